package appfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// PlaceOf returns where the files name a resource of AWS first, as "sluice.yaml:14": by its ARN, or by the name of its
// cluster or image. It is empty if they do not name it.
func (a *Application) PlaceOf(resource string) string {
	return firstOf(a.PlacesOf(resource))
}

// PlacesOf returns all places of [Application.PlaceOf], those of the application file first.
func (a *Application) PlacesOf(resource string) []string {
	if resource == "" {
		return nil
	}
	return a.findTexts(func(t namedText) bool {
		switch {
		case t.key == "image":
			return "image "+t.text == resource
		case t.key == "cluster", strings.HasPrefix(resource, "arn:"):
			return t.text == resource
		}
		return false
	})
}

// PlaceOfServiceName returns where the files give the name of the service. It is empty if they do not.
func (a *Application) PlaceOfServiceName() string {
	return firstOf(a.findTexts(func(t namedText) bool {
		return t.key == "serviceName" && a.Service != nil && t.text == aws.ToString(a.Service.Input.ServiceName)
	}))
}

// PlaceOfRegion returns where the files give the Region. It is empty if they do not.
func (a *Application) PlaceOfRegion() string {
	return firstOf(a.findTexts(func(t namedText) bool { return t.in == "" && t.key == "region" && t.text == a.Region }))
}

// RegionOfARNs returns the Region of the ARNs in the files, and the place of the first. It is empty if none has a Region, or
// if they have several.
func (a *Application) RegionOfARNs() (region, place string) {
	several := false
	places := a.findTexts(func(t namedText) bool {
		parts := strings.SplitN(t.text, ":", 6)
		if len(parts) < 6 || parts[0] != "arn" || parts[3] == "" {
			return false
		}
		several = several || region != "" && region != parts[3]
		region = parts[3]
		return true
	})
	if several || region == "" {
		return "", ""
	}
	return region, places[0]
}

// PlaceOfText returns where the files first give a text as one of these members, or in a list of that name; without
// names, as any member. It is empty if they do not.
func (a *Application) PlaceOfText(text string, members ...string) string {
	return firstOf(a.findTexts(func(t namedText) bool {
		return t.text == text && text != "" && (len(members) == 0 || slices.Contains(members, cmp.Or(t.key, t.in)))
	}))
}

// PlaceOfKey returns where the files first give a key. It is empty if they do not.
func (a *Application) PlaceOfKey(key string) string {
	return firstOf(a.findTexts(func(t namedText) bool { return t.key == key }))
}

// PlaceOfTimeout returns where the files give the timeout of the deployment. It is empty if they do not, or a flag gives
// another one.
func (a *Application) PlaceOfTimeout() string {
	return firstOf(a.findTexts(func(t namedText) bool {
		span, err := time.ParseDuration(t.text)
		return t.key == "timeout" && (t.in == "" || t.in == "spec") && err == nil && span == a.Timeout
	}))
}

// PlaceOfCanaryGroup returns where the files name the target group of the canary. It is empty if they do not.
func (a *Application) PlaceOfCanaryGroup() string {
	return firstOf(a.findTexts(func(t namedText) bool { return t.in == "canary" && t.key == "targetGroupArn" }))
}

// PlaceOfPipeline returns where the files give the pipeline. It is empty if they do not.
func (a *Application) PlaceOfPipeline() string {
	return firstOf(a.findTexts(func(t namedText) bool { return t.key == "pipeline" && t.text == "" }))
}

func firstOf(places []string) string {
	if len(places) == 0 {
		return ""
	}
	return places[0]
}

// namedText is a text of a file with the key of its member, and that of the map which has the member. The text of a list
// or map is empty.
type namedText struct{ in, key, text string }

// findTexts returns the places of members in the application file, then in the definitions.
func (a *Application) findTexts(is func(namedText) bool) (places []string) {
	all := []*definition.Source{a.src}
	if a.Service != nil {
		all = append(all, a.Service.Text.Source)
	}
	if a.Task != nil {
		all = append(all, a.Task.Text.Source)
	}
	for _, src := range all {
		places = append(places, findTextsIn(src, is)...)
	}
	return places
}

func findTextsIn(src *definition.Source, is func(namedText) bool) (places []string) {
	if src == nil {
		return nil
	}
	var look func(n *definition.Node, in, key string, line int)
	look = func(n *definition.Node, in, key string, line int) {
		if n == nil {
			return
		}
		if n.Text != "" {
			line = n.Line
		}
		if is(namedText{in, key, n.Text}) {
			places = append(places, fmt.Sprintf("%s:%d", src.File, line))
		}
		for _, e := range n.Entries {
			look(e.Value, key, e.Key, e.Line)
		}
		for _, item := range n.Items {
			look(item, key, "", item.Line)
		}
	}
	look(src.Root, "", "", 1)
	return places
}

// Locate adds to an error about what the files name the place where they do. An error about a resource that is named twice
// and does not exist becomes one for each place, because each has to be corrected.
func (a *Application) Locate(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, a.Locate(e))
		}
		return errors.Join(all...)
	}
	var about *sluice.Error
	kind := sluice.KindOf(err)
	if err == nil || kind != "" && kind != sluice.NotFound && kind != sluice.Conflict || !errors.As(err, &about) {
		return err
	}
	places := a.PlacesOf(about.Resource)
	switch {
	case len(places) == 0:
		return err
	case len(places) == 1 || kind != sluice.NotFound:
		return LocateAt(places[0], err)
	}
	all := make([]error, len(places))
	for i, place := range places {
		all[i] = LocateAt(place, err)
	}
	return errors.Join(all...)
}

// LocateAt adds a place to an error. An error without a place is returned as it is.
func LocateAt(place string, err error) error {
	if place == "" {
		return err
	}
	return &sluice.Error{Op: place, Kind: sluice.KindOf(err), Err: err}
}
