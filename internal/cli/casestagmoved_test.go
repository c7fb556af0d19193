package cli

import "testing"

// A tag of ECR that names another image than the tasks run is no silent "No changes". A forced deployment starts the
// image, and afterwards nothing is said.
func TestMovedTagsAreNamed(t *testing.T) {
	noMachine(t)
	const name, tag = "14-tag-that-moved", "web:latest: latest moved: it names another image now (sha256:"
	const remedy = ") than 2 of 2 tasks run (sha256:"
	const force = "with --force-new-deployment"
	playCase(t, name, nil, func(b *caseBench) {
		b.expect("plan", 0, "No changes", "Warnings", tag, remedy, force)
		b.expect("diff", 0, "Warnings", tag, force)
		b.expect("deploy", 0, "No changes", "warning: tag of image", tag, force)
		b.expect("deploy --output json", 0, tag, force)
		b.expect("verify", 0, "warning tag of image", tag, force)
		b.expect("plan --force-new-deployment", 0, tag, "new tasks run the one that the tag names now, and a rollback may too",
			"!"+force)
		b.expect("deploy --force-new-deployment", 0, "succeeded", tag)
		b.expect("plan", 0, "No changes", "!moved")
		b.expect("deploy", 0, "No changes", "!moved")
		b.expect("verify", 0, "web:latest: the serving tasks run it", "!moved")
	})
	playCase(t, name, nil, func(b *caseBench) {
		fail(t, b.sim.Inject("denied ecr:BatchGetImage"))
		b.expect("plan", 0, "No changes", "Notes", "not checked: tag of image", "ecr:BatchGetImage", "!Warnings")
		b.expect("deploy", 0, "No changes")
	})
	playCase(t, name, []caseEdit{{"world.yaml", `, "moved": true`, ""}}, func(b *caseBench) {
		b.expect("plan", 0, "No changes", "!moved", "!not checked")
		b.expect("plan --iam", 0, "ecr:BatchGetImage")
	})
	for _, image := range []string{"nginx:latest", "nginx"} {
		edits := []caseEdit{{"taskdef.json", "123456789012.dkr.ecr.us-east-1.amazonaws.com/web:latest", image},
			{"world.yaml", "123456789012.dkr.ecr.us-east-1.amazonaws.com/web:latest", image}}
		playCase(t, name, edits, func(b *caseBench) {
			b.expect("plan", 0, "No changes", "not checked: tag of image "+image+": only tags of ECR are compared", "!Warnings")
			b.expect("plan --iam", 0, "!ecr:BatchGetImage")
		})
	}
}
