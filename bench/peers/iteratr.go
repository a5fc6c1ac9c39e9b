// Starts a hook like iteratr does: `sh -c`, no stdin, a deadline, stdout and stderr kept apart.
// Reads how often from stdin, one number a line, and answers each with a line.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

func runHook(command, folder string) error {
	limited, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	hook := exec.CommandContext(limited, "sh", "-c", command)
	hook.Dir = folder
	var stdout, stderr bytes.Buffer
	hook.Stdout, hook.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := hook.Run(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		return fmt.Errorf("the hook ended with %v", err)
	}
	return nil
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		count, err := strconv.Atoi(lines.Text())
		for ; err == nil && count > 0; count-- {
			err = runHook(os.Args[1], os.Args[2])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("done")
	}
}
