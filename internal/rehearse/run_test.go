package rehearse

import "testing"

func TestOne(t *testing.T) {
	c, err := Parse(`seed 1
world tasks=4
stage ECS_CANARY_ROLLOUT scale=50
stage ECS_TRAFFIC_ROUTING canary=10
stage ECS_PRIMARY_ROLLOUT
stage ECS_TRAFFIC_ROUTING primary=100
stage ECS_CANARY_CLEAN
`)
	if err != nil {
		t.Fatal(err)
	}
	r := Run(c)
	t.Logf("%+v", r)
}
