package wait_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice/wait"
)

func ExampleFor() {
	r, err := wait.For(context.Background(), wait.Options{
		Cluster: "prod", Service: "web", TaskDefinition: "web:42", Timeout: 10 * time.Minute,
		Progress: func(r wait.Result) { fmt.Println(r.Detail) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Outcome, r.Detail)
	for _, why := range r.Reasons {
		fmt.Println(why.Count, why.Text, "->", why.Next)
	}
}
