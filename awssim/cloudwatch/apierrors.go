package cloudwatch

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

func validationError(format string, args ...any) error {
	return world.Refuse("ValidationError", format, args...)
}

func badCombination(format string, args ...any) error {
	return world.Refuse("InvalidParameterCombinationException", format, args...)
}

func missingParameter(format string, args ...any) error {
	return world.Refuse("MissingRequiredParameterException", format, args...)
}

func notSimulated(what string) error {
	return world.Refuse("InvalidParameterValueException", "%s is not simulated", what)
}

// alarmNotFound returns an error with the text "Unknown": AWS gives no text of its own.
func alarmNotFound() error {
	return &world.Refusal{Code: "ResourceNotFound", Message: "Unknown", Status: 404}
}

func badToken() error { return world.Refuse("InvalidNextToken", "Invalid nextToken") }

// firstOf returns the first error of several checks.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
