package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/replica"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// maxListed is how many names a question lists. Of more, a person enters a part of the name.
const maxListed = 20

// hasDefinitions reports whether the folder has a definition file, for which sluice init writes the application file.
func (r *initRun) hasDefinitions(target string) bool {
	for _, name := range []string{replica.TaskFile, replica.ServiceFile} {
		if _, err := fs.Stat(r.Env.Disk.FS(target), name); err == nil {
			return true
		}
	}
	return false
}

// askService asks for the service to read, from the lists of AWS. Without a terminal it asks nothing, and refuses.
func (r *initRun) askService(ctx context.Context, dir string) error {
	if !r.Env.CanAsk() {
		return r.refuseToAsk(ctx, dir)
	}
	a, _, err := r.OpenAccount(ctx, "", "")
	if err != nil {
		return err
	}
	of := ecs.Service{API: a.ECS(), Cluster: r.cluster}
	if of.Cluster == "" {
		names, err := listClusters(ctx, of)
		if err != nil {
			return err
		}
		if of.Cluster, err = r.choose(ctx, "cluster", "Region "+a.Region(), names); err != nil {
			return err
		}
	}
	names, err := of.ListNames(ctx)
	if err != nil {
		return survey.NameMissing(ctx, of, err)
	}
	slices.Sort(names)
	r.cluster = of.Cluster
	r.service, err = r.choose(ctx, "service", "cluster "+sluice.ARNName(of.Cluster), names)
	return err
}

func listClusters(ctx context.Context, of ecs.Service) (names []string, err error) {
	arns, err := of.ListClusters(ctx)
	for _, arn := range arns {
		names = append(names, sluice.ARNName(arn))
	}
	slices.Sort(names)
	return names, err
}

// refuseToAsk returns the error without a terminal. It lists what --cluster or --service can be, if AWS can be read.
func (r *initRun) refuseToAsk(ctx context.Context, dir string) error {
	why, next := replica.TaskFile+": the file does not exist", giveService
	if r.cluster != "" {
		why, next = "--cluster names the cluster of --service, which is missing", "give --service too, or leave --cluster out"
	}
	if a, _, err := r.OpenAccount(ctx, "", ""); err == nil {
		of := ecs.Service{API: a.ECS(), Cluster: r.cluster}
		if r.cluster != "" {
			if names, err := of.ListNames(ctx); err == nil && len(names) > 0 {
				why += fmt.Sprintf("; cluster %s has %s", sluice.ARNName(r.cluster), definition.ListNames(names))
			}
		} else if names, err := listClusters(ctx, of); err == nil && len(names) > 0 {
			why += fmt.Sprintf("; Region %s has the clusters %s", a.Region(), definition.ListNames(names))
		}
	}
	return &sluice.Error{Op: "sluice init", Resource: dir, Err: errors.New(why), Next: next}
}

// choose asks for one of the names, by its number, its name or a part of it. The only one is not asked for.
func (r *initRun) choose(ctx context.Context, what, place string, all []string) (string, error) {
	switch len(all) {
	case 0:
		return "", &sluice.Error{Op: "sluice init", Kind: sluice.NotFound,
			Err: fmt.Errorf("%s has no %s; nothing was written", place, what), Next: "check --region, --profile and --cluster"}
	case 1:
		fmt.Fprintf(r.Env.Err, "%s: %s, the only one of %s\n", what, all[0], place)
		return all[0], nil
	}
	for shown := all; ; {
		r.printNames(what, place, shown)
		answer, err := r.answer(ctx, "Enter the number or a part of the name of a "+what)
		if err != nil {
			return "", err
		}
		if slices.Contains(all, answer) {
			return answer, nil
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= min(len(shown), maxListed) {
			return shown[n-1], nil
		}
		var near []string
		for _, name := range all {
			if strings.Contains(strings.ToLower(name), strings.ToLower(answer)) {
				near = append(near, name)
			}
		}
		switch {
		case len(near) == 1:
			fmt.Fprintf(r.Env.Err, "%s: %s\n", what, near[0])
			return near[0], nil
		case len(near) == 0:
			fmt.Fprintf(r.Env.Err, "No %s has the number or the name %q.\n", what, answer)
			near = all
		}
		shown = near
	}
}

// printNames prints the names with their numbers.
func (r *initRun) printNames(what, place string, names []string) {
	fmt.Fprintf(r.Env.Err, "%s of %s:\n", sluice.Plural(len(names), what), place)
	for i, name := range names[:min(len(names), maxListed)] {
		fmt.Fprintf(r.Env.Err, "%3d  %s\n", i+1, name)
	}
	if more := len(names) - maxListed; more > 0 {
		fmt.Fprintf(r.Env.Err, "     and %d more: enter a part of the name\n", more)
	}
}

// answer asks for one line. The end of the input ends the command.
func (r *initRun) answer(ctx context.Context, question string) (string, error) {
	line, err := r.Env.AskLine(ctx, "sluice init", question)
	if errors.Is(err, io.EOF) {
		return "", &sluice.Error{Op: "sluice init", Err: errors.New("the input ended before the last answer; nothing was written"),
			Next: "run sluice init again, or give --cluster and --service"}
	}
	return line, err
}

// askPipeline asks for the pipeline of a service that can have a canary.
func (r *initRun) askPipeline(ctx context.Context, s replica.Setup) error {
	kinds := []struct {
		kind replica.Pipeline
		does string
	}{
		{replica.CanaryPipeline, "half as many new tasks get a fifth of the requests, then all are replaced"},
		{replica.BlueGreenPipeline, "as many new tasks get all requests in one step; the old ones stay until the end"},
		{replica.RollingPipeline, "no stages: all tasks are replaced"},
	}
	fmt.Fprintf(r.Env.Err, "Pipelines for %s:\n", s.Name)
	for i, k := range kinds {
		fmt.Fprintf(r.Env.Err, "%3d  %-10s  %s\n", i+1, k.kind, k.does)
	}
	for {
		answer, err := r.answer(ctx, "Enter the number or the name of a pipeline (default: 1)")
		if err != nil {
			return err
		}
		answer = cmp.Or(answer, "1")
		for i, k := range kinds {
			if answer == strconv.Itoa(i+1) || answer == string(k.kind) {
				r.pipeline = string(k.kind)
				return nil
			}
		}
		fmt.Fprintf(r.Env.Err, "No pipeline has the number or the name %q.\n", answer)
	}
}
