/** PersistentVolumeClaims. Binds each claim at once, like a provisioner without a limit. The claim names a volume that does not exist as an object. */
import type { GroupResource } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import type { Controller } from './controller.ts';
import type { Objects } from './objects.ts';

interface VolumeClaim extends KubeObject {
  spec?: { accessModes?: string[]; volumeName?: string; resources?: { requests?: Record<string, string> } };
}

export class ClaimController implements Controller {
  readonly name = 'persistentvolume-binder';
  readonly resource: GroupResource = { group: '', resource: 'persistentvolumeclaims' };
  readonly watches = [];

  reconcile(object: KubeObject, _key: unknown, objects: Objects): number | undefined {
    const claim = object as VolumeClaim;
    const { spec = {} } = claim;
    if (spec.volumeName === undefined) {
      objects.update(claim, { ...claim, spec: { ...spec, volumeName: `pvc-${claim.metadata.uid}` } });
      return 0;
    }
    objects.writeStatus(claim, {
      phase: 'Bound',
      accessModes: spec.accessModes ?? [],
      capacity: { storage: spec.resources?.requests?.storage ?? '0' },
    });
    return undefined;
  }
}
