package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/rehearse/simtest"
)

// groundSpeed is how much faster than the machine's time runs on a ground.
const groundSpeed = 60

// groundAt names the ground that a sluice under test deploys on: whoever waits
// there for the end of a stage is told of it.
const groundAt = "SLUICE_SCRIPT_GROUND"

// serveGround is a process that is nothing but a world: the case of the standard
// input, until that input is closed. It prints its address.
func serveGround() error {
	in := json.NewDecoder(os.Stdin)
	var text string
	if err := in.Decode(&text); err != nil {
		return err
	}
	c, err := simtest.Parse(text)
	if err != nil {
		return err
	}
	c.Codec = true
	g, err := simtest.NewSimEnv(c, clock.Scaled(groundSpeed))
	if err != nil {
		return err
	}
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(at, groundHandler(g)) }()
	fmt.Println("http://" + at.Addr().String())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func groundHandler(g *simtest.SimEnv) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /_ground/ended", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("stage"))
		_ = json.NewEncoder(w).Encode(g.StageEnded(n))
	})
	mux.HandleFunc("POST /_ground/due", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(g.RunDue())
	})
	mux.HandleFunc("POST /_ground/judge", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(g.Judge(sluice.Outcome(r.FormValue("outcome")), r.FormValue("cause")))
	})
	mux.Handle("/", g.Handler())
	return mux
}

// tellGround asks a ground something and decodes its answer.
func tellGround(at, what string, form url.Values, answer any) error {
	resp, err := http.PostForm(at+"/_ground/"+what, form)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(answer)
}

// grounded lets the stages of a sluice under test be known on its ground, as soon
// as their end is recorded, and what people then ask of it be recorded too.
func grounded(env session.Env) session.Env {
	at := os.Getenv(groundAt)
	if at == "" {
		return env
	}
	open := env.OpenJournal
	env.OpenJournal = func(path string, c clock.Clock) (*journal.Journal, error) {
		j, err := open(path, c)
		if err == nil {
			told := 0
			j.WrapWrites(func(_ string, write func() error) error {
				return errors.Join(write(), tellStages(j, at, &told))
			})
		}
		return j, err
	}
	return env
}

// tellStages tells of stages that are done and were not told yet.
func tellStages(j *journal.Journal, at string, told *int) error {
	ctx := context.Background()
	all, err := j.Deployments(ctx, journal.Filter{})
	if err != nil || len(all) == 0 {
		return err
	}
	stages, err := j.Stages(ctx, all[0].ID)
	if err != nil {
		return err
	}
	done := len(stages)
	if i := slices.IndexFunc(stages, func(s journal.Stage) bool { return s.Status != journal.StageDone }); i >= 0 {
		done = i
	}
	for *told < done {
		*told++
		var commands []string
		if err := tellGround(at, "ended", url.Values{"stage": {strconv.Itoa(*told)}}, &commands); err != nil {
			return err
		}
		for _, c := range commands {
			if _, err := j.AddCommand(ctx, journal.Command{Deployment: all[0].ID, Kind: c,
				By: "somebody"}); err != nil {
				return err
			}
		}
	}
	return nil
}
