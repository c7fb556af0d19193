package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	aws "github.com/sluice-ecs/sluice/awssim/world"
)

func inWorld(sim *awssim.Sim, f func(*aws.Tx)) {
	_ = sim.World().Do(aws.Key{Account: "123456789012", Region: "us-east-1"},
		func(tx *aws.Tx) error { f(tx); return nil })
}

func vpcOf(sim *awssim.Sim) (id string) {
	inWorld(sim, func(tx *aws.Tx) { id = tx.VPCs.Keys()[0] })
	return id
}

// standing is what is there in the world: what costs money or stands in somebody's
// way. Services that are INACTIVE and revisions that are deregistered stay on AWS too.
func standing(t *testing.T, sim *awssim.Sim) string {
	t.Helper()
	var b strings.Builder
	inWorld(sim, func(tx *aws.Tx) {
		for _, c := range tx.Clusters.Values() {
			if c.Status == "ACTIVE" {
				fmt.Fprintln(&b, "cluster", c.Name)
			}
		}
		for _, s := range tx.Services.Values() {
			if s.Status != "INACTIVE" {
				fmt.Fprintln(&b, "service", s.ID(), len(s.TaskSets))
			}
		}
		for _, d := range tx.TaskDefinitions.Values() {
			if d.Status == "ACTIVE" {
				fmt.Fprintln(&b, "definition", d.ARN)
			}
		}
		fmt.Fprintln(&b, "balancers", tx.LoadBalancers.Keys(), "groups", tx.TargetGroups.Keys(), "rules",
			tx.Rules.Len())
		fmt.Fprintln(&b, "namespaces", tx.Namespaces.Keys(), "registries", tx.Registries.Keys())
		fmt.Fprintln(&b, "alarms", tx.Alarms.Keys(), "log groups", tx.LogGroups.Keys())
		st := codedeployer.StateOf(tx)
		fmt.Fprintln(&b, "applications", st.Applications.Keys())
	})
	return b.String()
}
