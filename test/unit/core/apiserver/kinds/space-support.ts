/** A space over a memory store with the kinds of the product. The test decides when its turns run. */
import { builtinKinds } from '../../../../../core/apiserver/builtin/builtin-kinds.ts';
import { CrdController } from '../../../../../core/apiserver/crd/crd-controller.ts';
import { ownKindsAdmission } from '../../../../../core/apiserver/kinds/admission.ts';
import { ownKinds } from '../../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../../core/apiserver/managed-fields/field-manager.ts';
import type { Space, SpaceType } from '../../../../../core/apiserver/space.ts';
import { EmbeddedStorage } from '../../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../../core/apiserver/verbs/embedded-space.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { Turns } from '../lifecycle/turns.ts';

export interface TestSpace {
  readonly space: Space;
  readonly kinds: SpaceKinds;
  /** Runs the CrdController until it has no work. */
  settle(): void;
}

export function testSpace(type: SpaceType = 'Workload', path = ''): TestSpace {
  const clock = new VirtualClock();
  const logger = silentLogger;
  const storage = new EmbeddedStorage({ store: new MemoryStore(), name: 'retail', logger });
  const kinds = new SpaceKinds(storage, [...builtinKinds(), ...ownKinds(type)]);
  const random = new SeededRandom(1);
  const admissions = [ownKindsAdmission(kinds, { type, path }, storage)];
  const space = new EmbeddedSpace({ name: 'retail', storage, kinds, clock, random, fields: fieldManager, admissions });
  const turns = new Turns();
  new CrdController({ space, clock, logger, schedule: turns.schedule });
  space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  return { space, kinds, settle: () => turns.settle() };
}

export function refusal(attempt: () => unknown): BanyanError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof BanyanError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

export function placement(spec: object): KubeObject {
  return { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'EdgePlacement', metadata: { name: 'shop' }, spec };
}
