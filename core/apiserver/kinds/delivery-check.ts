/**
 * Refuses writes to a workload space that ask for more than `spec.delivery` of the Space allows. An object is refused when it is created: its namespace and kind
 * never change, and a user sees the mistake before anything waits for the object. A placement is refused when it asks for more in a field that changes.
 * So old objects and placements can always be edited and deleted, although the Space allows less than before.
 */
import {
  boundedPriority,
  type DeliveryBounds,
  isClusterScopedWithin,
  isNamespaceResource,
  isNamespaceWithin,
  mayDeliver,
  resourcesText,
} from '../../match/delivery-bounds.ts';
import { isWithinSelector } from '../../match/selector-bound.ts';
import { upsyncBeyond } from '../../match/upsync-bounds.ts';
import type { UpsyncItem } from '../../match/upsync-item.ts';
import { stableStringify } from '../../object/canonical.ts';
import { invalidField } from '../../object/field-error.ts';
import type { ObjectKey } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import { type LabelSelector, selectorText } from '../../object/selector.ts';
import type { Cause } from '../../runtime/errors.ts';
import { crdResource } from '../crd/definition.ts';
import type { WriteAdmission } from '../space.ts';
import { forbidden, invalidObject } from '../status-errors.ts';
import type { CheckedKinds } from './admission.ts';
import { type DownsyncItem, type EdgePlacementSpec, edgeGroup, placementResource } from './edge-placement.ts';
import { mayTravel } from './travelling.ts';

export interface BoundedSpace {
  readonly name: string;
  readonly kinds: Pick<CheckedKinds, 'all'>;
  /** `spec.delivery` of the Space as it is now. Undefined: there are no bounds. */
  bounds(): DeliveryBounds | undefined;
}

/** Writes of the node itself have no user, and are accepted. */
export function deliveryAdmission(space: BoundedSpace): WriteAdmission {
  return ({ operation, key, object, old, subresource, user }) => {
    if (!user || !object || operation === 'delete' || subresource !== undefined) return;
    const bounds = space.bounds();
    if (!bounds) return;
    if (key.group === placementResource.group && key.resource === placementResource.resource) {
      const causes = placementBeyond(specOf(object), old && specOf(old), { ...space, bounds });
      if (causes.length > 0) throw invalidObject({ group: edgeGroup, kind: object.kind }, key.name, causes);
    } else if (operation === 'create') {
      checkObject(space.name, key, bounds);
    }
  };
}

function checkObject(space: string, key: ObjectKey, bounds: DeliveryBounds): void {
  // A definition has its nature in the space too: clusters that serve the kind need no definition from here.
  const isDefinition = key.group === crdResource.group && key.resource === crdResource.resource;
  if (!mayTravel(key) || isDefinition || mayDeliver(bounds, key)) return;
  const isInNamespace = key.namespace !== '' || isNamespaceResource(key);
  throw forbidden(key, isInNamespace ? onlyNamespaces(space, bounds) : onlyKinds(space, bounds));
}

interface Bounds {
  readonly name: string;
  readonly kinds: Pick<CheckedKinds, 'all'>;
  readonly bounds: DeliveryBounds;
}

function placementBeyond(spec: EdgePlacementSpec, old: EdgePlacementSpec | undefined, space: Bounds): Cause[] {
  const isNew = <T>(list: 'locationSelectors' | 'downsync' | 'upsync', one: T) =>
    !(old?.[list] ?? []).some((former) => stableStringify(former) === stableStringify(one));
  const changed = <T>(list: 'locationSelectors' | 'downsync' | 'upsync', items: readonly T[] = []) =>
    [...items.entries()].filter(([, one]) => isNew(list, one));
  return [
    ...locationsBeyond(spec, old, changed('locationSelectors', spec.locationSelectors), space),
    ...changed('downsync', spec.downsync).flatMap(([i, item]) => downsyncBeyond(item, `spec.downsync[${i}]`, space)),
    ...changed('upsync', spec.upsync).flatMap(([i, item]) => upsyncCauses(item, `spec.upsync[${i}]`, space)),
    ...(spec.priority === old?.priority ? [] : priorityBeyond(spec, space)),
  ];
}

function locationsBeyond(
  spec: EdgePlacementSpec,
  old: EdgePlacementSpec | undefined,
  changed: readonly (readonly [number, LabelSelector])[],
  { name, bounds: { locationSelector } }: Bounds,
): Cause[] {
  if (!locationSelector) return [];
  const where = `the Space ${name} delivers only to Locations with ${selectorText(locationSelector)} (spec.delivery.locationSelector)`;
  const isNone = (spec.locationSelectors ?? []).length === 0;
  if (isNone && spec.locationExpression !== undefined && spec.locationExpression !== old?.locationExpression) {
    return [invalidField('spec.locationSelectors', [], `${where}: add a selector that requires these labels`)];
  }
  return changed.flatMap(([i, selector]) =>
    isWithinSelector(selector, locationSelector)
      ? []
      : [invalidField(`spec.locationSelectors[${i}]`, selector, `${where}: require these labels too`)],
  );
}

function downsyncBeyond(item: DownsyncItem, field: string, { name, kinds, bounds }: Bounds): Cause[] {
  const { namespaces, namespaceSelectors, objectNames = [], resources = [], apiGroup = '*' } = item;
  const named = (namespaces ?? []).flatMap((namespace, i) =>
    namespace === '*' || isNamespaceWithin(bounds, namespace)
      ? []
      : [invalidField(`${field}.namespaces[${i}]`, namespace, onlyNamespaces(name, bounds))],
  );
  // An item that names namespaces selects no cluster-scoped objects.
  if (namespaces || namespaceSelectors) return named;
  return resources.flatMap((resource, i) => {
    const meant = kinds.all().filter((kind) => {
      const isInGroup = apiGroup === '*' || kind.group === apiGroup;
      return kind.resource === resource && isInGroup && !kind.namespaced && mayTravel(kind);
    });
    if (meant.some(isNamespaceResource)) {
      return objectNames.flatMap((one, at) =>
        one === '*' || isNamespaceWithin(bounds, one)
          ? []
          : [invalidField(`${field}.objectNames[${at}]`, one, onlyNamespaces(name, bounds))],
      );
    }
    const isBeyond = meant.length > 0 && !meant.some((kind) => isClusterScopedWithin(bounds, kind));
    return isBeyond ? [invalidField(`${field}.resources[${i}]`, resource, onlyKinds(name, bounds))] : [];
  });
}

function upsyncCauses(item: UpsyncItem, field: string, { name, bounds }: Bounds): Cause[] {
  const beyond = upsyncBeyond(item, bounds);
  if (beyond === undefined) return [];
  const { upsync, namespaces = ['*'] } = bounds;
  const kinds = upsync ? resourcesText(upsync) : 'all kinds but Secrets';
  const why =
    beyond === 'resources'
      ? `the Space ${name} reads back only ${kinds} (spec.delivery.upsync): name some of these`
      : `the Space ${name} reads back only from namespaces ${namesText(namespaces)} (spec.delivery.namespaces), and cluster-scoped objects only of the kinds in spec.delivery.clusterScoped: name namespaces`;
  return [invalidField(`${field}.${beyond}`, item[beyond] ?? null, `${why}, or ${ask}`)];
}

function priorityBeyond({ priority }: EdgePlacementSpec, { name, bounds }: Bounds): Cause[] {
  const most = boundedPriority(priority, bounds);
  if (most === priority) return [];
  const why = `the Space ${name} allows at most ${most} (spec.delivery.priorityMax): choose a lower priority`;
  return [invalidField('spec.priority', priority, why)];
}

const ask = 'ask those who run this node for more';

function onlyNamespaces(space: string, { namespaces = [] }: DeliveryBounds): string {
  return `the Space ${space} delivers only into namespaces ${namesText(namespaces)} (spec.delivery.namespaces): use one of these, or ${ask}`;
}

function onlyKinds(space: string, { clusterScoped = [] }: DeliveryBounds): string {
  return `of cluster-scoped objects, the Space ${space} delivers ${clusterScoped.length === 0 ? 'none' : `only ${resourcesText(clusterScoped)}`} (spec.delivery.clusterScoped): use a namespaced kind, or ${ask}`;
}

function namesText(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}

function specOf(object: KubeObject): EdgePlacementSpec {
  return (object.spec ?? {}) as EdgePlacementSpec;
}
