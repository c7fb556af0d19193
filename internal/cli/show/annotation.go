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

// AnnotationPlace returns the place of a problem as properties of an annotation.
func AnnotationPlace(p *definition.Problem) string {
	return fmt.Sprintf("file=%s,line=%d,col=%d", annotationProperty(p.File), p.Line, p.Column)
}

// AnnotationTitle returns the title of an annotation as its property.
func AnnotationTitle(title string) string { return "title=" + annotationProperty(title) }

// annotationProperty also escapes colons and commas, which end a property.
func annotationProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
