/** Compares the rules that a user has with the rules that the user wants to give to others. */
import { compareText } from '../object/text-order.ts';
import type { PolicyRule } from './rbac-objects.ts';
import { includes, urlIncludes } from './rules.ts';

/** Everything. */
export const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/**
 * The part of the wanted rules that no held rule covers, in the smallest pieces: one verb, group, resource and name each. Empty: everything is covered. As in
 * Kubernetes, one held rule must cover a whole piece, and all verbs of the API together do not cover the verb `*`.
 */
export function missingRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(piecesOf).filter((piece) => !held.some((rule) => coversPiece(rule, piece)));
}

/** The rules as kube-apiserver lists them in its refusals: pieces of one resource are joined, and the lines are sorted. */
export function describeRules(rules: readonly PolicyRule[]): string {
  return [...new Set(compact(rules).map(describeRule))].sort(compareText).join('\n');
}

/** A rule without verbs, or with resources but without groups, allows nothing and has no pieces. */
function piecesOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): PolicyRule[] {
  const pieces: PolicyRule[] = [];
  const names = (resourceNames ?? []).map((name) => ({ resourceNames: [name] }));
  for (const apiGroup of apiGroups ?? []) {
    for (const resource of resources ?? []) {
      for (const verb of verbs ?? []) {
        for (const name of names.length > 0 ? names : [{}]) {
          pieces.push({ apiGroups: [apiGroup], resources: [resource], verbs: [verb], ...name });
        }
      }
    }
  }
  for (const url of nonResourceURLs ?? []) {
    for (const verb of verbs ?? []) pieces.push({ nonResourceURLs: [url], verbs: [verb] });
  }
  return pieces;
}

function coversPiece(held: PolicyRule, piece: PolicyRule): boolean {
  if (!includes(held.verbs, piece.verbs[0]!)) return false;
  if (piece.nonResourceURLs) {
    return (held.nonResourceURLs ?? []).some((url) => urlIncludes(url, piece.nonResourceURLs![0]!));
  }
  return (
    includes(held.apiGroups, piece.apiGroups![0]!) &&
    coversResource(held.resources ?? [], piece.resources![0]!) &&
    coversName(held.resourceNames ?? [], piece.resourceNames?.[0])
  );
}

/** A star before a slash stands for all resources. The star alone covers all resources with all subresources. */
function coversResource(held: readonly string[], resource: string): boolean {
  const slash = resource.indexOf('/');
  return includes(held, resource) || (slash >= 0 && held.includes(`*${resource.slice(slash)}`));
}

/** A rule with names never covers a rule without names, which also allows requests without a name. */
function coversName(held: readonly string[], name: string | undefined): boolean {
  return held.length === 0 || (name !== undefined && held.includes(name));
}

/** Joins the verbs of pieces that are about the same resource, and about the same name or both about no name. Pieces about URLs stay as they are. */
function compact(pieces: readonly PolicyRule[]): PolicyRule[] {
  const byResource = new Map<string, PolicyRule>();
  for (const piece of pieces) {
    if (!piece.resources) continue;
    const key = JSON.stringify([piece.apiGroups, piece.resources, piece.resourceNames]);
    byResource.set(key, { ...piece, verbs: [...(byResource.get(key)?.verbs ?? []), ...piece.verbs] });
  }
  return [...pieces.filter(({ resources }) => !resources), ...byResource.values()];
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}` */
function describeRule({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const fields = {
    APIGroups: apiGroups,
    Resources: resources,
    NonResourceURLs: nonResourceURLs,
    ResourceNames: resourceNames,
    Verbs: verbs,
  };
  const shown = Object.entries(fields).flatMap(([name, list]) =>
    list && list.length > 0 ? [`${name}:${describeList(list)}`] : [],
  );
  return `{${shown.join(', ')}}`;
}

/** `["get" "list"]`: a list as kube-apiserver prints it. */
export function describeList(list: readonly string[]): string {
  return `[${list.map((item) => JSON.stringify(item)).join(' ')}]`;
}
