#!/bin/sh
# Lets ecspresso read the service of the local AWS into its files, and deploy them. Start
# sluice sim --from examples/shop next to this, and paste the lines to export.
set -eu

ecspresso init --config ecspresso.yml --region "$AWS_REGION" --cluster prod --service shop
ecspresso diff --config ecspresso.yml
ecspresso deploy --config ecspresso.yml --force-new-deployment
ecspresso status --config ecspresso.yml
