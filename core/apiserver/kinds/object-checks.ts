/**
 * The checks of a write that depend on the objects of the write, and on a few facts about the space. So the thread for long bodies makes them too
 * (http/thread-space.ts). All other checks need the space: they are its admissions.
 */
import type { DeliveryBounds } from '../../match/delivery-bounds.ts';
import type { NamedKind, ObjectChecks, ServiceRoom, SpaceFacts, WriteAdmission } from '../space.ts';
import type { SpaceStorage } from '../storage.ts';
import { type CheckedKinds, ownKindsAdmission } from './admission.ts';
import { completeService, isService } from './cluster-services.ts';
import { deliveryAdmission } from './delivery-check.ts';

export interface CheckedSpace extends Omit<SpaceFacts, 'bounds' | 'services'> {
  /** `spec.delivery` of the Space as it is now. Absent, or undefined: there are no bounds. */
  bounds?(): DeliveryBounds | undefined;
  /** Absent: the space gives Services no addresses of a cluster. */
  services?(): ServiceRoom;
}

export function objectChecks(of: CheckedSpace, kinds: CheckedKinds, storage: SpaceStorage): ObjectChecks {
  const { name, type, path, services } = of;
  const bounds = () => of.bounds?.();
  const checks = [
    ownKindsAdmission(kinds, { type, path }, storage),
    deliveryAdmission({ name, kinds, bounds }),
    ...(services ? [serviceAdmission(services)] : []),
  ];
  return {
    facts(written) {
      const now = bounds();
      return {
        ...{ name, type, path },
        ...(now ? { bounds: now } : {}),
        ...(services && isService(written) ? { services: services() } : {}),
      };
    },
    admission: (request: Parameters<WriteAdmission>[0]) => {
      for (const check of checks) check(request);
    },
  };
}

function serviceAdmission(services: () => ServiceRoom): WriteAdmission {
  return ({ operation, key, object, old, subresource }) => {
    if (operation === 'delete' || subresource !== undefined || !object || !isService(key)) return;
    completeService(object, old, services());
  };
}

/** The part of a kind that checks of other kinds read. It can be sent to another thread. */
export function kindNames({ group, resource, kind, singular, shortNames, namespaced }: NamedKind): NamedKind {
  return { group, resource, kind, singular, shortNames, namespaced };
}
