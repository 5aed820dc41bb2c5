package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processorTime returns the processor time that the process has used, the kernel's on its behalf too; 0 if that is not known.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// releaseProgram takes the pages of the program's file out of the process's memory. Most were needed for its start only (types are
// registered, tables are built); those that are needed again come back from the system's cache of the file, as they came before,
// sixteen at a time.
func releaseProgram() (err error) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, maps.Close()) }()
	areas, err := areasOf(maps, program)
	if err != nil {
		return err
	}
	for _, a := range areas {
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, a.start, a.end-a.start, syscall.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("madvise: %w", errno)
		}
	}
	return nil
}

// area is a part of the address space.
type area struct{ start, end uintptr }

// areasOf returns where a file is mapped and cannot be written to, from the text of /proc/PID/maps (see proc_pid_maps(5)). What can
// be written to may differ from the file by now.
func areasOf(maps io.Reader, file string) ([]area, error) {
	var areas []area
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || strings.Join(fields[5:], " ") != file || !strings.HasPrefix(fields[1], "r-") {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseUint(from, 16, strconv.IntSize)
		if err != nil {
			return nil, fmt.Errorf("address in %q: %w", fields[0], err)
		}
		end, err := strconv.ParseUint(to, 16, strconv.IntSize)
		if err != nil {
			return nil, fmt.Errorf("address in %q: %w", fields[0], err)
		}
		areas = append(areas, area{uintptr(start), uintptr(end)})
	}
	return areas, lines.Err()
}
