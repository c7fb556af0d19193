package cloudwatch

import (
	"fmt"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func validationError(format string, args ...any) error {
	return world.Refuse("ValidationError", format, args...)
}

// constraintViolation returns the error of a violated constraint of the model, in AWS's words.
func constraintViolation(value any, member, must string) error {
	shown := "null"
	if value != nil {
		shown = fmt.Sprintf("'%v'", value)
	}
	return validationError("1 validation error detected: Value %s at '%s' failed to satisfy constraint: %s", shown,
		member, must)
}

// checkLength checks the length of text, in characters.
func checkLength(s *string, member string, most int) error {
	switch {
	case s == nil:
		return constraintViolation(nil, member, "Member must not be null")
	case *s == "":
		return constraintViolation("", member, "Member must have length greater than or equal to 1")
	case utf8.RuneCountInString(*s) > most:
		return constraintViolation(*s, member, fmt.Sprintf("Member must have length less than or equal to %d", most))
	}
	return nil
}

// oneOf checks an enumeration.
func oneOf[E ~string](v E, member string, values []E) error {
	for _, x := range values {
		if x == v {
			return nil
		}
	}
	if v == "" {
		return constraintViolation(nil, member, "Member must not be null")
	}
	return constraintViolation(v, member, fmt.Sprintf("Member must satisfy enum value set: %v", values))
}

// ifGiven is oneOf for a member that may be left out.
func ifGiven[E ~string](v E, member string, values []E) error {
	if v == "" {
		return nil
	}
	return oneOf(v, member, values)
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
