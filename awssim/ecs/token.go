package ecs

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// token is a remembered idempotency token.
type token struct {
	print string   // of the parameters
	arns  []string // what the first call made
}

// repeated finds what an earlier call with the same token made; ok is false if
// there was none. The same token with other parameters is refused. Tokens are
// remembered for ever; a token counts within its cluster.
func repeated(tx *world.Tx, op, cluster, given, print string, conflict func([]string) error) (arns []string, ok bool, err error) {
	if given == "" {
		return nil, false, nil
	}
	if err := checkToken(op, given); err != nil {
		return nil, false, err
	}
	t, ok := stateOf(tx).tokens.Get(op + " " + cluster + " " + given)
	if ok && t.print != print {
		return nil, false, conflict(t.arns)
	}
	return t.arns, ok, nil
}

func remember(tx *world.Tx, op, cluster, given, print string, arns ...string) {
	if given != "" {
		stateOf(tx).tokens.Put(op+" "+cluster+" "+given, token{print, arns})
	}
}

func checkToken(op, given string) error {
	most := 36
	if op == "RunTask" {
		most = 64
	}
	if len(given) > most {
		return invalid("clientToken can have at most %d characters.", most)
	}
	for i := range len(given) {
		if given[i] < 33 || given[i] > 126 {
			return invalid("clientToken may only contain ASCII characters from 33 to 126.")
		}
	}
	return nil
}

func otherParameters([]string) error {
	return invalid("The client token was used before with different parameters.")
}
