package engine_test

import (
	"fmt"
	"sort"
	"testing"
)

func TestTmp(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.calls = nil
		b.deploy(b.files("sim/web:v2", canaryPipeline))
		fmt.Println(b.log())
		n := map[string]int{}
		for _, c := range b.calls {
			n[c.Operation]++
		}
		var k []string
		for x := range n {
			k = append(k, x)
		}
		sort.Strings(k)
		for _, x := range k {
			fmt.Println(x, n[x])
		}
		fmt.Println(len(b.calls))
	})
}
