// Package parent tells a plugin that the process which started it has ended. A plugin without this check would
// outlive a program that was killed, and continue its work.
//
// Start reading at [AwaitEnd].
package parent
