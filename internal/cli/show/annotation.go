package show

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// Annotation returns a workflow command (GitHub documentation, "Workflow commands for GitHub
// Actions"). It escapes percent, CR and LF.
func (p Paint) Annotation(level, message, place string) string {
	message = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(message)
	if place != "" {
		level += " " + place
	}
	return p.own.Raw("::") + level + "::" + message
}

// AnnotationPlace returns the place of a problem as properties of an annotation. It also escapes
// colons and commas in the file's name.
func AnnotationPlace(p *definition.Problem) string {
	file := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(p.File)
	return fmt.Sprintf("file=%s,line=%d,col=%d", file, p.Line, p.Column)
}
