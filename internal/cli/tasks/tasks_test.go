package tasks

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/ecs"
)

func TestFindTask(t *testing.T) {
	all := []ecs.Task{{ID: "0123aa"}, {ID: "0123bb"}, {ID: "45"}}
	for id, want := range map[string]string{
		"4":                                 "45",
		"0123a":                             "0123aa",
		"arn:aws:ecs:r:1:task/prod/0123bb":  "0123bb",
		"0123":                              "2 tasks have an ID that begins so",
		"9":                                 "no running task of the application has this ID",
		"arn:aws:ecs:r:1:task/prod/0123bbc": "no running task",
	} {
		task, err := findTask(all, id)
		if err == nil && task.ID != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s %v, not %s", id, task.ID, err, want)
		}
	}
}

// Ctrl-C ends sluice logs --follow without an error, and hides no other one.
func TestStopped(t *testing.T) {
	failed := errors.New("failed")
	ctx, cancel := context.WithCancel(context.Background())
	if err := stopped(ctx, failed); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	cancel()
	if err := stopped(ctx, context.Canceled); err != nil {
		t.Errorf("%v", err)
	}
}
