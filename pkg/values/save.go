package values

import (
	"fmt"

	"helm.sh/helm/v3/pkg/chartutil"
)

// Save writes the recorded chart as a package into a directory, and returns the path of the package. The error is a
// *MissingChartsError when only a part of the chart was recorded.
func (s *Source) Save(dir string) (string, error) {
	c, err := s.LoadChart()
	if err != nil {
		return "", err
	}
	path, err := chartutil.Save(c, dir)
	if err != nil {
		return "", fmt.Errorf("write the chart: %w", err)
	}
	return path, nil
}
