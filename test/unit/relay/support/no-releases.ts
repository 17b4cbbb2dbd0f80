/** Ports of a scheduler whose placements have no rollouts. */
import type { ReleaseExposure } from '../../../../relay/schedule/ports.ts';

export const noReleases: ReleaseExposure = {
  rowChanged: () => false,
  release: () => false,
  attached() {},
  detached: () => [],
  targetFor: (_t, _placement, _child, target) => target,
};
