/** For a scheduler whose placements have no rollouts. */
import type { Releases } from '../../../../relay/schedule/ports.ts';

export const noReleases: Releases = {
  rowChanged: () => false,
  release: () => false,
  attached() {},
  detached: () => [],
  targetFor: (_t, _placement, _child, target) => target,
};
