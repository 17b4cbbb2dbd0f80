/**
 * Checks of the mesh's own kinds that no schema can express. For example, an EdgePlacement that names an unknown resource of the space is refused. Such a
 * name is usually a typing mistake and would select nothing. If the user wants to create the definition of the resource, they can do this first.
 */

import { type DeliveryBounds, tooLargeDelivery } from '../../match/delivery-bounds.ts';
import { stableStringify } from '../../object/canonical.ts';
import { invalidField } from '../../object/field-error.ts';
import type { GroupResource } from '../../object/key.ts';
import { checkSelector, checkSelectors } from '../../object/label-selector-check.ts';
import { type KubeObject, parseApiVersion } from '../../object/meta.ts';
import type { LabelSelector } from '../../object/selector.ts';
import type { Cause } from '../../runtime/errors.ts';
import { suggest } from '../../runtime/suggest.ts';
import type { SummarizerSpec } from '../../summary/summarizer-spec.ts';
import { definitionAdmission } from '../crd/definition-admission.ts';
import type { Kind, NamedKind, WriteAdmission } from '../space.ts';
import { invalidObject } from '../status-errors.ts';
import type { SpaceStorage } from '../storage.ts';
import { checkAttachTo, type SpacePlace } from './attach-to-check.ts';
import { checkCustomizer, checkCustomizerNames } from './customizer-admission.ts';
import { type DownsyncItem, type DownsyncMatch, type EdgePlacementSpec, edgeGroup } from './edge-placement.ts';
import { warnOfNoEffect } from './effect-warnings.ts';
import { exceptWarnings } from './except-check.ts';
import { checkIgnoredFields } from './ignored-fields-check.ts';
import { inventoryGroup } from './inventory-kinds.ts';
import { checkLocationExpression } from './location-expression-check.ts';
import { meshGroup } from './mesh-kinds.ts';
import { checkMeshWrite } from './node-written-check.ts';
import { checkRollout } from './rollout-check.ts';
import { checkSummarizer } from './summarizer-check.ts';
import { mayTravel } from './travelling.ts';

/** What the checks read of the kinds of a space. */
export interface CheckedKinds {
  byResource(resource: GroupResource): Kind | undefined;
  all(): readonly NamedKind[];
}

/**
 * The checks of a space with kinds of the mesh. They apply to these kinds and to CustomResourceDefinitions. The checks look only at changed parts, so users
 * can always edit and delete an old placement.
 */
export function ownKindsAdmission(kinds: CheckedKinds, place: SpacePlace, storage: SpaceStorage): WriteAdmission {
  const admitDefinition = definitionAdmission(kinds, storage);
  // An edge cluster has no kinds of the mesh, and may have other kinds with their names.
  if (place.type === 'Cluster') return admitDefinition;
  return (request) => {
    admitDefinition(request);
    const { operation, key, object, old, subresource } = request;
    const kind = kinds.byResource(key);
    if (place.type === 'System') checkMeshWrite(request, place.path);
    warnOfNoEffect(request, kind, place.type);
    if (!object || operation === 'delete' || subresource !== undefined) return;
    const check = checks[`${key.group}/${key.resource}`];
    if (!check) return;
    // The checks expect fields of the right types. If a field has a wrong type, validation reports this after admission.
    if (kind && kind.rules.validate(object, parseApiVersion(object.apiVersion).version, old).length > 0) return;
    const causes = check(object, old, kinds, place);
    if (causes.length > 0) throw invalidObject({ group: key.group, kind: object.kind }, key.name, causes);
    if (key.group !== edgeGroup || key.resource !== 'edgeplacements') return;
    for (const text of exceptWarnings(specOf(object).downsync)) request.warn?.(text);
  };
}

type KindCheck = (
  object: KubeObject,
  old: KubeObject | undefined,
  kinds: CheckedKinds,
  place: SpacePlace,
) => readonly Cause[];

const checks: Readonly<Record<string, KindCheck>> = {
  [`${edgeGroup}/edgeplacements`]: (object, old, kinds) => checkPlacement(specOf(object), old && specOf(old), kinds),
  [`${edgeGroup}/customizers`]: checkCustomizer,
  [`${edgeGroup}/statussummarizers`]: (object, old) =>
    checkSummarizer(object.spec as SummarizerSpec, old?.spec as SummarizerSpec | undefined),
  [`${meshGroup}/spaces`]: checkSpace,
  [`${inventoryGroup}/locations`]: checkLocation,
  [`${inventoryGroup}/synctargets`]: (object, old, _kinds, place) => checkAttachTo(object, old, place),
};

function checkPlacement(spec: EdgePlacementSpec, old: EdgePlacementSpec | undefined, kinds: CheckedKinds): Cause[] {
  const causes = checkSelectors(spec.locationSelectors, 'spec.locationSelectors');
  for (const list of ['downsync', 'upsync'] as const) {
    for (const [index, item] of (spec[list] ?? []).entries()) {
      const field = `spec.${list}[${index}]`;
      causes.push(...checkSelectors(item.labelSelectors, `${field}.labelSelectors`));
      const { namespaceSelectors, customizers, except = [] } = item as DownsyncItem;
      causes.push(...checkSelectors(namespaceSelectors, `${field}.namespaceSelectors`));
      causes.push(...checkCustomizerNames(customizers, `${field}.customizers`));
      for (const [i, one] of except.entries()) {
        causes.push(...checkSelectors(one.labelSelectors, `${field}.except[${i}].labelSelectors`));
        causes.push(...checkSelectors(one.namespaceSelectors, `${field}.except[${i}].namespaceSelectors`));
      }
    }
  }
  if (spec.locationExpression !== undefined && spec.locationExpression !== old?.locationExpression) {
    causes.push(...checkLocationExpression(spec.locationExpression, 'spec.locationExpression'));
  }
  causes.push(...checkRollout(spec.rollout, old?.rollout));
  causes.push(...checkIgnoredFields(spec.drift?.ignoredFields));
  const known = new Set((old?.downsync ?? []).map(stableStringify));
  for (const [index, item] of (spec.downsync ?? []).entries()) {
    if (known.has(stableStringify(item))) continue;
    const field = `spec.downsync[${index}]`;
    causes.push(...checkResources(item, field, kinds));
    for (const [i, one] of (item.except ?? []).entries()) {
      causes.push(...checkResources(one, `${field}.except[${i}]`, kinds));
    }
  }
  return causes;
}

function checkLocation(object: KubeObject): Cause[] {
  const spec = object.spec as { instanceSelector?: LabelSelector } | undefined;
  return spec?.instanceSelector ? checkSelector(spec.instanceSelector, 'spec.instanceSelector') : [];
}

function checkSpace(object: KubeObject): Cause[] {
  const { delivery } = (object.spec ?? {}) as { delivery?: DeliveryBounds };
  if (!delivery) return [];
  const tooLarge = tooLargeDelivery(delivery);
  return [
    ...(delivery.locationSelector ? checkSelector(delivery.locationSelector, 'spec.delivery.locationSelector') : []),
    ...(tooLarge ? [invalidField('spec.delivery', Object.keys(delivery), tooLarge)] : []),
  ];
}

/** Checks `downsync`, which names resources of this space. `upsync` and `associated` name resources of the edge clusters, which this space does not know. */
function checkResources(item: DownsyncMatch, field: string, kinds: CheckedKinds): Cause[] {
  const group = item.apiGroup ?? '*';
  const inGroup = kinds.all().filter((kind) => group === '*' || kind.group === group);
  const named = (item.resources ?? []).filter((resource) => resource !== '*');
  if (inGroup.length === 0) return [invalidField(`${field}.apiGroup`, group, unknownGroup(group, kinds))];
  const resources = new Set(inGroup.map((kind) => kind.resource));
  return named.flatMap((resource) => {
    const at = `${field}.resources[${item.resources!.indexOf(resource)}]`;
    if (resources.has(resource)) return staysHere(resource, inGroup) ? [invalidField(at, resource, neverTravels)] : [];
    return [invalidField(at, resource, unknownResource(resource, group, [...resources], kinds))];
  });
}

const neverTravels =
  'objects of this resource stay in their space: they decide where other objects go, or are bookkeeping of the space; take it out';

function staysHere(resource: string, kinds: readonly NamedKind[]): boolean {
  const named = kinds.filter((kind) => kind.resource === resource);
  return named.every((kind) => !mayTravel(kind));
}

function unknownGroup(group: string, kinds: CheckedKinds): string {
  const groups = [...new Set(kinds.all().map((kind) => kind.group))];
  return `this space has no kind of API group ${JSON.stringify(group)}; ${suggestion(suggest(group, groups))}`;
}

function unknownResource(resource: string, group: string, resources: string[], kinds: CheckedKinds): string {
  const where = group === '*' ? 'any API group' : `API group ${JSON.stringify(group)}`;
  const elsewhere = kinds.all().find((kind) => kind.resource === resource);
  const asName = kinds.all().find((kind) => isNamed(kind, resource.toLowerCase()));
  const meant = elsewhere
    ? `did you mean apiGroup ${JSON.stringify(elsewhere.group)}? `
    : suggestion(asName?.resource ?? suggest(resource, resources));
  return `this space has no resource of this plural name in ${where}; ${meant}`;
}

/** True if the word is the kind, the singular or a short name. For the plural `deployments`, for example: `deploy`, `Deployment` and `deployment`. */
function isNamed(kind: { kind: string; singular: string; shortNames: readonly string[] }, word: string): boolean {
  return kind.kind.toLowerCase() === word || kind.singular === word || kind.shortNames.includes(word);
}

function suggestion(word: string | undefined): string {
  const meant = word === undefined ? '' : `did you mean ${JSON.stringify(word)}? `;
  return `${meant}A kind of a CustomResourceDefinition is known once its definition has been applied: apply that first`;
}

function specOf(object: KubeObject): EdgePlacementSpec {
  return (object.spec ?? {}) as EdgePlacementSpec;
}
