package awssim_test

import (
	"fmt"
	"net/http"
	"os"
)

// taskProgram is what the test binary is when it runs as a task.
func taskProgram() {
	_ = http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"),
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "program", os.Getenv("TASK_PROGRAM"))
		}))
}
