#!/bin/sh
# Deploys with the aws command line to the local AWS, and waits until the service is stable.
# Start it next to this: sluice sim --from examples/shop. Paste the lines to export, then run
# this script in the folder of the two definition files.
set -eu

new=$(aws ecs register-task-definition --cli-input-json file://taskdef.json \
  --query taskDefinition.taskDefinitionArn --output text)
aws ecs update-service --cluster prod --service shop --task-definition "$new" \
  --query service.deployments[0].status --output text
aws ecs wait services-stable --cluster prod --services shop

group=$(aws elbv2 describe-target-groups --names shop --query TargetGroups[0].TargetGroupArn --output text)
aws elbv2 describe-target-health --target-group-arn "$group" \
  --query 'TargetHealthDescriptions[].TargetHealth.State' --output text
aws ecs describe-services --cluster prod --services shop \
  --query 'services[0].[taskDefinition,runningCount]' --output text
