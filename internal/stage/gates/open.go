package gates

import (
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// openReader opens what a gate reads. It makes no call.
func openReader(s *step.Step, g appfile.Gate) (reader, error) {
	switch from := g.Read; {
	case from.Signal != nil:
		return openSignal(s, g)
	case from.Alarm != "":
		return alarmReader{s.Account, from.Alarm}, nil
	case s.OutsideAWS == nil:
		return nil, gateError(g, errors.New("this process reads nothing outside of AWS"))
	case from.Provider != nil:
		return openQuery(s, g)
	case from.HTTPS != nil:
		return httpReader{*from.HTTPS, s.OutsideAWS}, nil
	case len(from.Command) > 0:
		return commandReader{commandOf(g), s.Clock}, nil
	}
	return nil, gateError(g, errors.New("it reads nothing"))
}

func gateError(g appfile.Gate, err error) error {
	return &sluice.Error{Op: "open gate " + g.Name, Err: err, Next: "correct the gate, and deploy again"}
}

func openSignal(s *step.Step, g appfile.Gate) (reader, error) {
	p := s.Plan
	groups, ok := metrics.GroupsOf(p.Listeners[0], p.Primary.ARN, p.Canary.ARN)
	if !ok {
		return nil, gateError(g, fmt.Errorf("%s is no listener of an Application Load Balancer", p.Listeners[0]))
	}
	return signalReader{step.SharedMetrics(s.Account, s.Clock), groups, *g.Read.Signal}, nil
}

// openQuery opens the provider of a gate with queries.
func openQuery(s *step.Step, g appfile.Gate) (reader, error) {
	source := openSource(*g.Read.Provider, s.Account, s.Clock, s.OutsideAWS)
	if err := prepareQueries(source, g, s.Clock.Now()); err != nil {
		return nil, gateError(g, err)
	}
	if g.Counts() {
		return countsReader{source, g.Read.Bad, g.Read.All}, nil
	}
	r := valuesReader{source, g.Read.Values, stepOf(g), g.How.PipeCD}
	if g.ComparesWithEarlier() {
		return earlierReader{r, g.Earlier, s.Host.Began(), g.OnUndecided == appfile.Pass}, nil
	}
	return r, nil
}
