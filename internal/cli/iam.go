package cli

import (
	"io"

	"github.com/sluice-ecs/sluice/internal/policy"
)

// showPolicy writes the IAM policy that a plan needs, and nothing else.
func (p *program) showPolicy(pre *prepared) error {
	d, err := policy.Of(pre.plan, pre.live)
	if err != nil {
		return err
	}
	text, err := d.Text()
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.env.Out, text)
	return err
}
