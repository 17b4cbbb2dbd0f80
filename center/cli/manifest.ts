/**
 * The objects of files that a person would apply, as the space would store them: checked by dry runs, so with defaults and with all mistakes, each with its line.
 * Nothing is written.
 */

import { readFileSync } from 'node:fs';
import { parseJson } from '../../core/object/json.ts';
import { ownField } from '../../core/object/json-value.ts';
import type { JsonObject, KubeObject } from '../../core/object/meta.ts';
import { describeError } from '../../core/runtime/errors.ts';
import { isRecord } from '../../core/runtime/is-record.ts';
import { type FileProblem, formatProblem, parseYamlFiles, type YamlText } from '../../core/runtime/yaml-text.ts';
import type { NodeApiClient } from './api-client.ts';
import { collectionPath, type FoundResource, objectPath, resourceOfKind } from './resources.ts';
import { UsageError } from './usage-error.ts';

export type ManifestApi = Pick<NodeApiClient, 'get' | 'write'>;

/** One object of a file. */
interface ManifestObject {
  readonly file: string;
  readonly object: KubeObject;
  lineOf(path: readonly PropertyKey[]): number | undefined;
}

export interface PlannedObjects {
  /** The objects as the space would store them. */
  readonly objects: readonly KubeObject[];
  /** Objects that the space can't check yet, because a Namespace or definition of the files is not there yet. */
  readonly unchecked: readonly string[];
}

/** Throws UsageError with all mistakes of all files, one a line: `FILE:LINE: FIELD: MESSAGE`. `-` is the standard input. */
export async function plannedObjects(
  api: ManifestApi,
  context: string,
  files: readonly string[],
): Promise<PlannedObjects> {
  const problems: string[] = [];
  const manifests = files.flatMap((file) => objectsOf(file, (problem) => problems.push(formatProblem(file, problem))));
  const objects: KubeObject[] = [];
  const unchecked: string[] = [];
  const all = manifests.map(({ object }) => object);
  for (const manifest of manifests) {
    const outcome = await dryRun(api, context, manifest, all);
    if ('problems' in outcome) problems.push(...outcome.problems.map((one) => formatProblem(manifest.file, one)));
    else objects.push(outcome.object);
    if ('isUnchecked' in outcome) unchecked.push(named(manifest.object));
  }
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  if (objects.length === 0) throw new UsageError(`${files.join(', ')}: there is no object in it`);
  return { objects, unchecked };
}

function objectsOf(file: string, problem: (problem: FileProblem) => void): ManifestObject[] {
  const parsed = parseYamlFiles(textOf(file));
  if ('problems' in parsed) {
    for (const one of parsed.problems) problem(one);
    return [];
  }
  return parsed.value.flatMap((document) => {
    const line = document.lineOf([]);
    const found = itemsOf(document);
    return found.flatMap(({ value, path }) => {
      const missing = missingField(value);
      const lineOf = (below: readonly PropertyKey[]) => document.lineOf([...path, ...below]) ?? line;
      if (missing === undefined) return [{ file, object: value as KubeObject, lineOf }];
      const at = lineOf([]);
      problem({ ...missing, ...(at === undefined ? {} : { line: at }) });
      return [];
    });
  });
}

function textOf(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file}: can't be read: ${describeError(error)}`, { cause: error });
  }
}

/** The objects of a document: itself, or the items of a List. */
function itemsOf({ value }: YamlText): { value: unknown; path: readonly PropertyKey[] }[] {
  if (!isRecord(value) || value.kind !== 'List' || !Array.isArray(value.items)) return [{ value, path: [] }];
  return value.items.map((item: unknown, i) => ({ value: item, path: ['items', i] }));
}

function missingField(value: unknown): Pick<FileProblem, 'field' | 'message'> | undefined {
  if (!isRecord(value)) return { field: '', message: 'is no object: write a map with apiVersion, kind and metadata' };
  for (const field of ['apiVersion', 'kind']) {
    if (typeof value[field] !== 'string')
      return { field, message: `is missing, or is no text: every object has ${field}` };
  }
  const name = isRecord(value.metadata) ? value.metadata.name : undefined;
  if (typeof name !== 'string')
    return { field: 'metadata.name', message: 'is missing, or is no text: a plan needs the name' };
  return undefined;
}

type Checked = { object: KubeObject; isUnchecked?: true } | { problems: FileProblem[] };

async function dryRun(
  api: ManifestApi,
  context: string,
  { object, lineOf }: ManifestObject,
  all: readonly KubeObject[],
): Promise<Checked> {
  const resource = await resourceOfKind(api, context, object.apiVersion, object.kind);
  if (!resource) {
    if (all.some((one) => isDefinitionOf(one, object))) return { object, isUnchecked: true };
    const message = `${context} has no kind ${object.kind} in ${object.apiVersion}; for a list: kubectl --context ${context} api-resources`;
    return { problems: [withLine({ field: '', message }, lineOf(['kind']))] };
  }
  const placed = withNamespace(object, resource);
  const { namespace = '', name = '' } = placed.metadata;
  const path = objectPath(resource, namespace, name);
  const live = await api.get(context, path);
  if (!live && resource.namespaced && all.some((one) => isNamespace(one, namespace))) {
    const isThere = await api.get(context, `/api/v1/namespaces/${namespace}`);
    if (!isThere) return { object: placed, isUnchecked: true };
  }
  const dry = '?dryRun=All&fieldManager=banyan-plan&fieldValidation=Strict';
  const answer = live
    ? await api.write(context, 'PATCH', `${path}${dry}`, appliedPatch(live, placed))
    : await api.write(context, 'POST', `${collectionPath(resource, namespace)}${dry}`, placed);
  if ('object' in answer) return { object: { ...answer.object, apiVersion: placed.apiVersion, kind: placed.kind } };
  const { message, causes } = answer.refused;
  if (causes.length === 0) return { problems: [withLine({ field: '', message }, lineOf([]))] };
  return { problems: causes.map((cause) => withLine(cause, lineOf(pathOf(cause.field)))) };
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * The merge patch that `kubectl apply` would make: the fields of the file, and null for each field that kubectl applied before and that the file does not have
 * any more.
 */
export function appliedPatch(live: KubeObject, file: KubeObject): JsonObject {
  const applied = live.metadata.annotations?.[lastApplied];
  const before: unknown = applied === undefined ? {} : parsedOr(applied, {});
  return patchOf(before, file as unknown as JsonObject);
}

function patchOf(before: unknown, next: JsonObject): JsonObject {
  const patch: JsonObject = {};
  if (isRecord(before)) for (const key of Object.keys(before)) if (!Object.hasOwn(next, key)) patch[key] = null;
  for (const [key, value] of Object.entries(next)) {
    patch[key] = isRecord(value) ? patchOf(isRecord(before) ? ownField(before, key) : {}, value as JsonObject) : value;
  }
  return patch;
}

function parsedOr(json: string, otherwise: unknown): unknown {
  try {
    return parseJson(json);
  } catch {
    return otherwise;
  }
}

function withNamespace(object: KubeObject, { namespaced }: FoundResource): KubeObject {
  const { namespace: given, ...metadata } = object.metadata;
  return { ...object, metadata: namespaced ? { ...metadata, namespace: given ?? 'default' } : metadata };
}

function isNamespace({ kind, apiVersion, metadata }: KubeObject, name: string): boolean {
  return kind === 'Namespace' && apiVersion === 'v1' && metadata.name === name;
}

function isDefinitionOf(one: KubeObject, object: KubeObject): boolean {
  if (one.kind !== 'CustomResourceDefinition') return false;
  const { group, names } = (one.spec ?? {}) as { group?: string; names?: { kind?: string } };
  return names?.kind === object.kind && object.apiVersion.startsWith(`${group}/`);
}

function withLine(problem: Pick<FileProblem, 'field' | 'message'>, line: number | undefined): FileProblem {
  return { ...problem, ...(line === undefined ? {} : { line }) };
}

/** The path of `spec.items[0].name`, for the line in the file. */
function pathOf(field: string): PropertyKey[] {
  return [...field.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, name]) =>
    index === undefined ? (name ?? '') : Number(index),
  );
}

function named({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
}
