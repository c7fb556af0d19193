package world

import "fmt"

// Check is a truth that must hold after every step.
type Check struct {
	Name string
	Hold func(*Tx) error
}

// Check adds a truth; laws add theirs.
func (w *World) Check(c Check) { w.checks = append(w.checks, c) }

func (w *World) check(tx *Tx) {
	for _, c := range w.checks {
		err := c.Hold(tx)
		if err == nil {
			continue
		}
		tx.Log("check", c.Name, "violated: %v", err)
		if w.strict {
			panic(fmt.Sprintf("world check %q violated at %s: %v", c.Name, w.now, err))
		}
	}
}

func baseChecks() []Check {
	return []Check{
		{"one PRIMARY per service", onePrimary},
		{"a task's containers agree with its status", containersAgree},
	}
}

func onePrimary(tx *Tx) error {
	for _, s := range tx.Services.All() {
		n := 0
		for _, ts := range s.TaskSets {
			if ts.Status == "PRIMARY" {
				n++
			}
		}
		if n > 1 {
			return fmt.Errorf("service %s has %d PRIMARY task sets", s.ID(), n)
		}
	}
	return nil
}

func containersAgree(tx *Tx) error {
	for _, s := range tx.Services.All() {
		for _, ts := range s.TaskSets {
			for _, t := range ts.Tasks {
				if t.LastStatus == "STOPPED" {
					return fmt.Errorf("stopped task %s is still listed in %s", t.ID, ts.ID)
				}
			}
		}
	}
	return nil
}
