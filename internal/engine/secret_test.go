package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// withSecret is an application whose environment, command and labels hold a secret.
func (b *bench) withSecret() fstest.MapFS {
	files := b.Files("sim/web:v2", canaryPipeline)
	def := files["taskdef.yaml"]
	def.Data = append(def.Data, []byte("    environment: [{name: PASSWORD, value: "+stagetest.Secret+"}]\n"+
		"    command: [serve, --password="+stagetest.Secret+", --token, "+stagetest.Secret+", https://me:"+stagetest.Secret+"@example.com]\n"+
		"    dockerLabels: {api.token: "+stagetest.Secret+"}\n")...)
	return files
}

// No row of the journal and no event holds a value of an environment, or a secret of a
// command or a label (P6); the revision that is registered does.
func TestSecretsAreNotJournaled(t *testing.T) {
	on(t, options{}, func(b *bench) {
		path := filepath.Join(t.TempDir(), "journal.sqlite")
		j, err := journal.Open(path, b.Clock)
		must(b, err)
		b.Engine.Journal = j
		end := b.Deploy(b.withSecret())
		b.ExpectEnd(end, sluice.Succeeded, "", servesV2)
		must(b, j.Close())
		for _, file := range got(filepath.Glob(path + "*"))(b) {
			if strings.Contains(string(got(os.ReadFile(file))(b)), stagetest.Secret) {
				b.Errorf("%s holds the secret", filepath.Base(file))
			}
		}
		if strings.Contains(b.EventLog(), stagetest.Secret) {
			b.Error("an event holds the secret")
		}
		if !strings.Contains(string(got(b.Registered())(b)), stagetest.Secret) {
			b.Error("the revision was registered without the value")
		}
	})
}

// Killed before the registration, the files must be there again; killed after
// it, not.
func TestResumeWithSecretsNeedsTheFilesUntilTheRevisionIsRegistered(t *testing.T) {
	for n, needs := range map[int]bool{1: true, 4: false} {
		on(t, options{}, func(b *bench) {
			ctx := context.Background()
			files := b.withSecret()
			id := b.Start(files)
			g := b.KillAtWrite(n, false)
			if b.RunUntilKilled(id) == "" {
				b.Fatal("not killed")
			}
			g.Left = -1
			again := &engine.Engine{Journal: b.Journal, Account: b.Engine.Account, Clock: b.Clock, Owner: "test/1"}
			end, err := again.Run(ctx, id, engine.Options{})
			if needs {
				if err == nil || !strings.Contains(sluice.NextStep(err), "in the application's folder") ||
					end.State != journal.Paused {
					b.Fatalf("resumed without its files: %s %v", end.State, err)
				}
				app := got(appfile.Load(files, "sluice.yaml", nil))(b)
				if !got(again.RestoreSecrets(ctx, id, app))(b) {
					b.Fatal("the files were not taken")
				}
				end, err = again.Run(ctx, id, engine.Options{})
			}
			must(b, err)
			b.ExpectEnd(end, sluice.Succeeded, "", servesV2)
		})
	}
}
