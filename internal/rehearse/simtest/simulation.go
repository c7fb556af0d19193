package simtest

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// simulation is a running rehearsal of a generated case.
type simulation struct {
	rehearsal     *rehearse.Rehearsal
	env           *rehearse.Environment // of the rehearsal
	report        *rehearse.Report      // of the rehearsal
	tracer        *tracer
	rollbackBegun bool            // the rollback has begun
	takenOverAt   time.Time       // when a second sluice took the claim of the first
	touched       touchedRecord   // the instance that another actor changed, until sluice reports it
	deregistering map[string]bool // instances that sluice has asked Cloud Map to deregister
	provider      *provider       // of metrics
}

// Run runs a generated case to its end and checks it against the promises.
func Run(c rehearse.Case) rehearse.Result { return runCase(c, nil).Report.Result }

// runCase runs a generated case. A nil tracer writes no trace.
func runCase(c rehearse.Case, t *tracer) *rehearse.Rehearsal {
	return rehearse.RunExtended(withFiles(c), func(r *rehearse.Rehearsal) rehearse.Extension {
		return newExtension(r, t)
	})
}

// prepare builds the world of a generated case, see [rehearse.Prepare].
func prepare(c rehearse.Case, k clock.Clock) (*rehearse.Rehearsal, error) {
	return rehearse.Prepare(withFiles(c), k, func(r *rehearse.Rehearsal) rehearse.Extension {
		return newExtension(r, nil)
	})
}

// withFiles returns the case with its generated application.
func withFiles(c rehearse.Case) rehearse.Case {
	c.Files, c.File, c.From, c.Generated = Application(c), "sluice.yaml", nil, true
	addDefinitions(&c)
	return c
}

func newExtension(r *rehearse.Rehearsal, t *tracer) rehearse.Extension {
	f := &simulation{rehearsal: r, env: r.Env, report: r.Report, tracer: t,
		deregistering: map[string]bool{}, provider: &provider{env: r.Env, report: r.Report}}
	return rehearse.Extension{Outside: f.provider, AddImages: f.addImages, Build: f.addToWorld, Acts: f.acts(), OnWriting: t.traceWrite,
		OnRow: f.traceRow, OnEvent: f.onEvent, CheckEnd: f.checkEnd}
}

// addImages defines what the images of the generated application do.
func (f *simulation) addImages(all image.Catalog, fresh image.Behaviour) error {
	all[newImage], all[leftoverImage] = fresh, image.Behaviour{Version: "left"}
	if err := f.addStepImages(all); err != nil {
		return err
	}
	return f.addJobImages(all)
}

// addToWorld adds what only generated worlds have.
func (f *simulation) addToWorld() error {
	if err := f.addJob(); err != nil {
		return err
	}
	f.addLeftovers()
	return nil
}

func (f *simulation) onEvent(e sluice.Envelope) {
	f.tracer.traceEvent(e)
	f.checkRecordNoticed(e)
	f.provider.onEvent(e)
}

// traceRow traces a value that the deployment saved.
func (f *simulation) traceRow(operation string) { f.tracer.traceRow(f.rehearsal, operation) }
