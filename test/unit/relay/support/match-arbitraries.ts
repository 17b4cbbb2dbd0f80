/** Random places and random rules over the same few names, so that they match often. */

import fc from 'fast-check';
import { type KeySummaries, type KeySummary, numbersOf } from '../../../../core/match/key-summary.ts';
import {
  keyedOf,
  type LabelSummary,
  type LocationLabels,
  summaryOfAgent,
} from '../../../../core/match/label-summary.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import type { LabelRequirement, LabelSelector } from '../../../../core/object/selector.ts';
import type { Child, Destination } from '../../../../relay/children/children.ts';
import { locationExpression } from '../../../../relay/placements/location-expression.ts';
import type { Placement } from '../../../../relay/placements/placement.ts';

const labelKey = fc.constantFrom('env', 'tier', 'rank');
const labelValue = fc.constantFrom('prod', 'test', '1', '7', '12');
const propertyKey = fc.constantFrom('carbon.gPerKWh', 'threat', 'cores');
const propertyValue = fc.constantFrom('low', 'high', '1', '80.5', '120', '-3', '1e3', '');
const selectorValues = fc.array(labelValue, { minLength: 1, maxLength: 3 });
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({ key: labelKey, operator: fc.constantFrom('In' as const, 'NotIn' as const), values: selectorValues }),
  fc.record({ key: labelKey, operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const) }),
  fc.record({
    key: labelKey,
    operator: fc.constantFrom('Gt' as const, 'Lt' as const),
    values: fc.constantFrom('0', '7', '11').map((limit) => [limit]),
  }),
);
export const selector: fc.Arbitrary<LabelSelector> = fc.record({
  matchExpressions: fc.array(requirement, { maxLength: 3 }),
});

export const place: fc.Arbitrary<Required<LocationLabels>> = fc.record({
  labels: fc.dictionary(labelKey, labelValue, { maxKeys: 3 }),
  properties: fc.dictionary(propertyKey, propertyValue, { maxKeys: 3 }),
  targetLabels: fc.dictionary(labelKey, labelValue, { maxKeys: 2 }),
});

/** The Locations of one agent: mostly one. */
export const places = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(place) },
  // The properties belong to the single SyncTarget.
  {
    weight: 1,
    arbitrary: fc
      .tuple(place, place)
      .map(([a, b]) => [a, { ...b, properties: a.properties, targetLabels: a.targetLabels }]),
  },
);

const text = fc.oneof(
  labelKey.map((key) => `location.metadata.labels.${key}`),
  labelKey.map((key) => `syncTarget.metadata.labels["${key}"]`),
  propertyKey.map((key) => `properties["${key}"]`),
  propertyKey.map((key) => `syncTarget.spec.properties["${key}"]`),
);
const constant = fc.oneof(labelValue, propertyValue);
const number = fc.constantFrom('-3.0', '0.0', '80.5', '100.0', '1000.0');
const order = fc.constantFrom('<', '<=', '>', '>=', '==', '!=');
const whole = fc.constantFrom('properties', 'location.metadata.labels', 'syncTarget.metadata.labels');
/** Comparisons of a number, and their opposites. */
export const comparison = fc
  .tuple(text, order, fc.oneof(number, fc.constantFrom('-3', '7', '12')), fc.boolean())
  .map(([a, op, b, isNot]) => `${isNot ? '!' : ''}(${b.includes('.') ? 'double' : 'int'}(${a}) ${op} ${b})`);
const leaf = fc.oneof(
  fc.tuple(text, fc.constantFrom('==', '!='), constant).map(([a, op, b]) => `${a} ${op} "${b}"`),
  fc.tuple(text, fc.constantFrom('==', '!=', '<'), text).map(([a, op, b]) => `${a} ${op} ${b}`),
  fc.tuple(text, order, number).map(([a, op, b]) => `double(${a}) ${op} ${b}`),
  fc.tuple(text, order, fc.constantFrom('-3', '7', '12')).map(([a, op, b]) => `int(${a}) ${op} ${b}`),
  fc.tuple(text, order, text).map(([a, op, b]) => `double(${a}) ${op} double(${b})`),
  fc.tuple(text, number).map(([a, b]) => `double(${a}) * 2.0 < ${b}`),
  fc.tuple(text, constant, constant).map(([a, b, c]) => `${a} in ["${b}", "${c}"]`),
  fc.tuple(text, constant).map(([a, b]) => `${a}.startsWith("${b.slice(0, 1)}")`),
  text.map((a) => `${a}.matches("^[a-m]")`),
  text.map((a) => `size(${a}) > 3`),
  text.map((a) => `has(${a.replace(/\["(\w+)"\]$/, '.$1').replace(/\[.*$/, '.threat')})`),
  fc.tuple(propertyKey, whole).map(([key, map]) => `"${key}" in ${map}`),
  fc.tuple(constant, text).map(([a, b]) => `["${a}", "x"].exists(one, one == ${b})`),
  whole.map((map) => `size(${map}) > 1`),
  fc.constantFrom('location.metadata.name.endsWith("1")', 'path.startsWith("a")', 'true', 'false'),
);

export const expression: fc.Arbitrary<string> = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'expression' },
    leaf,
    tie('node').map((a) => `!(${a})`),
    fc.tuple(tie('node'), tie('node')).map(([a, b]) => `(${a}) && (${b})`),
    fc.tuple(tie('node'), tie('node')).map(([a, b]) => `(${a}) || (${b})`),
    fc.tuple(tie('node'), tie('node'), tie('node')).map(([a, b, c]) => `((${a}) ? (${b}) : (${c}))`),
  ),
})).node;

export const placement: fc.Arbitrary<Placement> = fc
  .tuple(fc.array(selector, { maxLength: 2 }), fc.option(expression, { nil: undefined }))
  .map(([locationSelectors, locationExpression]) => ({
    id: 'center.retail/p',
    source: 'center.retail',
    name: 'p',
    locationSelectors,
    ...(locationExpression === undefined ? {} : { locationExpression }),
    children: new Set<string>(),
  }));

export function agentChild(name: string, all: readonly Required<LocationLabels>[], cordoned = false): Child {
  const destinations = all.map(destinationAt(name));
  return {
    name,
    role: 'agent',
    destinations: cordoned ? destinations.map((one) => ({ ...one, cordoned })) : destinations,
  };
}

const destinationAt =
  (name: string) =>
  ({ labels, properties, targetLabels }: Required<LocationLabels>, index: number): Destination => {
    const apiVersion = 'inventory.banyan.io/v1alpha1';
    const location: KubeObject = { apiVersion, kind: 'Location', metadata: { name: `${name}-${index}`, labels } };
    const metadata = { name, labels: targetLabels };
    const syncTarget: KubeObject = { apiVersion, kind: 'SyncTarget', metadata, spec: { properties } };
    const input = { location, syncTarget, path: `a:${name}` };
    return {
      location: `${name}-${index}`,
      syncTargetUid: name,
      labels,
      properties,
      targetLabels,
      rest: name,
      facts: { location, syncTarget, properties, path: `a:${name}` },
      evaluate: (source) => locationExpression(source, input).matches,
      failureOf: (source) => locationExpression(source, input).error,
    };
  };

export function isCordoned({ destinations }: Child): boolean {
  return destinations.some(({ cordoned }) => cordoned);
}

export function summaryOf(child: Child): LabelSummary {
  return summaryOfAgent(child.destinations, isCordoned(child));
}

/** The summary when it has too many sets. */
export function byKey(summary: LabelSummary): LabelSummary {
  return { ...keyedOf(summary) };
}

/** The summary when there are so many other labels that not even their names are reported. */
export function byFewKeys(summary: LabelSummary): LabelSummary {
  const keyed = keyedOf(summary);
  const names = Object.keys(keyed.keys).sort();
  const few = names.slice(0, Math.ceil(names.length / 2));
  return { ...keyed, keys: Object.fromEntries(few.map((name) => [name, keyed.keys[name]!])), moreKeys: true };
}

/** The summary when each key has too many other values. */
export function byRange(summary: LabelSummary): LabelSummary {
  const { properties, targetLabels, ...keyed } = keyedOf(summary);
  return {
    ...keyed,
    keys: withoutValues(keyed.keys),
    ...(properties ? { properties: withoutValues(properties) } : {}),
    ...(targetLabels ? { targetLabels: withoutValues(targetLabels) } : {}),
  };
}

function withoutValues(keys: KeySummaries): KeySummaries {
  const all = Object.entries(keys).map(([name, key]): [string, KeySummary] => {
    const numbers = numbersOf(key);
    return [name, { ...key, values: {}, complete: false, ...(numbers ? { numbers } : {}) }];
  });
  return Object.fromEntries(all);
}

/** The part of an expression that uses only data in summaries. */
export function usesSummaryDataOnly(rule: Placement): boolean {
  return !/path|metadata\.name/.test(rule.locationExpression ?? '');
}
