package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	slashpath "path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// openAccount opens the AWS account in a Region. The flag --region overrides the argument.
func (p *program) openAccount(ctx context.Context, region string) (*account.Account, clock.Clock, error) {
	c, scaled, err := p.openClock()
	if err != nil {
		return nil, nil, err
	}
	if p.flags.region != "" {
		region = p.flags.region
	}
	if a := p.accounts[region]; a != nil {
		return a, c, nil
	}
	a, err := account.Open(ctx, account.Config{
		Region: region, Profile: p.flags.profile, AssumeRole: p.flags.role, EndpointURL: p.flags.endpoint,
		HTTPClient: p.env.HTTPClient, Credentials: p.env.Credentials, APIOptions: p.env.APIOptions, Clock: c,
		Jitter:    p.randomFraction,
		OnSilence: p.printSilence,
	})
	if err != nil {
		return nil, nil, err
	}
	if scaled {
		err = a.SpeedAllowed()
	}
	if err == nil {
		if p.accounts == nil {
			p.accounts = map[string]*account.Account{}
		}
		p.accounts[region] = a
	}
	return a, c, err
}

// printSilence prints that AWS does not respond. It is used where no deployment reports this by an
// event.
func (p *program) printSilence(e sluice.Unanswered) { fmt.Fprintln(p.env.Err, e.Text()) }

// randomFraction returns a random number in [0,1).
func (p *program) randomFraction() float64 {
	var b [8]byte
	if _, err := p.env.Rand.Read(b[:]); err != nil {
		return 0
	}
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}

// openJournalForWrite opens the journal for a command that makes changes, and creates the journal if
// necessary. Such a command must not end because the reader of its output has ended.
func (p *program) openJournalForWrite() (*journal.Journal, error) {
	if p.env.IgnoreSIGPIPE != nil {
		p.env.IgnoreSIGPIPE()
	}
	return p.openJournal()
}

func (p *program) openJournal() (*journal.Journal, error) {
	c, _, err := p.openClock()
	if err != nil {
		return nil, err
	}
	return p.env.OpenJournal(p.statePath(), c)
}

// findJournal opens the journal, or returns nil if it does not exist. Commands that only read do
// not create the file.
func (p *program) findJournal() (*journal.Journal, error) {
	if path := p.statePath(); path != journal.Memory {
		abs, err := filepath.Abs(path)
		if err == nil {
			_, err = fs.Stat(p.env.FS(filepath.Dir(abs)), filepath.Base(abs))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return p.openJournal()
}

// newEngine returns an engine that runs deployments of the account with the journal.
func (p *program) newEngine(a *account.Account, c clock.Clock, j *journal.Journal) *engine.Engine {
	return &engine.Engine{Journal: j, Account: a, Clock: c, Owner: p.ownerName(), IsAlive: p.isOwnerAlive,
		NewID: func() string {
			id := ulid.MustNew(ulid.Timestamp(c.Now()), p.env.Rand)
			return plan.IDPrefix + strings.ToLower(id.String())
		}}
}

// ownerName returns the name of this process in leases.
func (p *program) ownerName() string { return fmt.Sprintf("%s/%d", p.env.Host, p.env.PID) }

// isOwnerAlive reports whether the process of a lease still runs. A process of another machine
// cannot be checked; it counts as running until its lease expires.
func (p *program) isOwnerAlive(owner string) bool {
	host, text, ok := strings.Cut(owner, "/")
	pid, err := strconv.Atoi(text)
	if !ok || err != nil || host != p.env.Host {
		return true
	}
	return p.env.IsAlive(pid)
}

// loadApplication reads the application at a path. The names of its files are relative to the
// working directory, if the files are below it.
func (p *program) loadApplication(path string) (*appfile.Application, error) {
	at, err := p.locateApplication(path)
	if err != nil {
		return nil, err
	}
	if at.local {
		return appfile.Load(at.files, at.name, p.lookupEnv)
	}
	return nameOutsideFiles(at.folder)(appfile.Load(at.files, at.name, p.lookupEnv))
}

// appLocation is the folder that an application is read from. Files outside this folder cannot be
// read.
type appLocation struct {
	files  fs.FS
	name   string // of the application file or the folder, in files
	local  bool   // the folder is below the working directory, and file names are relative to that
	folder string // as given on the command line
}

func (p *program) locateApplication(path string) (appLocation, error) {
	abs, err := p.absolutePath(path)
	if err != nil {
		return appLocation{}, &sluice.Error{Op: "find the working directory", Err: err}
	}
	at, dir := appLocation{name: ".", folder: filepath.Clean(path)}, abs
	if _, err := fs.Stat(p.env.FS(abs), "."); err != nil {
		at.name, at.folder, dir = filepath.Base(abs), filepath.Dir(path), filepath.Dir(abs)
	}
	at.files = p.env.FS(dir)
	wd, err := p.env.Getwd()
	if err != nil {
		return appLocation{}, &sluice.Error{Op: "find the working directory", Err: err}
	}
	if rel, err := filepath.Rel(wd, dir); err == nil && filepath.IsLocal(rel) {
		rel = filepath.ToSlash(rel)
		at.local, at.name, at.files = true, slashpath.Join(rel, at.name), folder.WithPrefix(rel, at.files)
	}
	return at, nil
}

// nameOutsideFiles returns a function that puts the given folder in front of file names. It is used
// for an application that is not below the working directory.
func nameOutsideFiles(folder string) func(*appfile.Application, error) (*appfile.Application, error) {
	named := func(file string) string { return filepath.ToSlash(filepath.Join(folder, file)) }
	return func(app *appfile.Application, err error) (*appfile.Application, error) {
		for _, e := range splitErrors(err) {
			var problem *definition.Problem
			var told *sluice.Error
			switch {
			case errors.As(e, &problem):
				problem.File = named(problem.File)
			case errors.As(e, &told) && told.Resource != "":
				told.Resource = named(told.Resource)
			}
		}
		if err != nil {
			return nil, err
		}
		app.File = named(app.File)
		if app.Task != nil {
			app.Task.File = named(app.Task.File)
		}
		if app.Service != nil {
			app.Service.File = named(app.Service.File)
		}
		return app, nil
	}
}

func (p *program) lookupEnv(key string) (string, bool) {
	v := p.env.Getenv(key)
	return v, v != ""
}
