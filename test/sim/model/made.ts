/**
 * Computes the customized object of a destination, written from the text of the reference. The model supports only the expressions that plans write
 * (plan/made.ts).
 */
import type { KubeObject } from '../../../core/object/meta.ts';
import type { Labels } from '../plan/action.ts';
import { holds } from './match.ts';

/** A destination as expressions read it. */
export interface Place {
  readonly path: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly properties: Labels;
}

interface CustomizerWritten {
  readonly spec?: {
    readonly rules?: readonly {
      readonly when?: string;
      readonly patch?: readonly { readonly path: string; readonly value: string }[];
    }[];
    readonly replacements?: readonly { readonly path: string; readonly value: string }[];
  };
}

/** `customizers`: the Customizers in the object's namespace. */
export function madeFor(object: KubeObject, customizers: readonly KubeObject[], place: Place): KubeObject {
  const { 'edge.banyan.io/customizer': name, 'edge.banyan.io/expand-parameters': expands } =
    object.metadata.annotations ?? {};
  if (name === undefined && expands !== 'true') return object;
  let data = (object as { data?: Labels }).data ?? {};
  if (expands === 'true') data = mapped(data, (text) => text.replace(/%\((\w+)\)/g, (_, key) => parameter(key, place)));
  const customizer = customizers.find(({ metadata }) => metadata.name === name) as CustomizerWritten | undefined;
  for (const { when, patch = [] } of customizer?.spec?.rules ?? []) {
    if (when !== undefined && !holds(when, place)) continue;
    for (const { path, value } of patch) data = { ...data, [path.replace('/data/', '')]: filled(value, place) };
  }
  for (const { path, value } of customizer?.spec?.replacements ?? []) {
    data = { ...data, [path.replace('$.data.', '')]: filled(value, place) };
  }
  return { ...object, data };
}

function parameter(name: string, { labels, annotations, properties }: Place): string {
  const found = labels[name] ?? annotations[name] ?? properties[name];
  if (found === undefined) throw new Error(`a parameter that no place has: ${name}`);
  return found;
}

function filled(template: string, place: Place): string {
  return template.replace(/\$\{\{ (.*?) \}\}/g, (_, expression) => read(expression, place));
}

function read(expression: string, place: Place): string {
  if (expression === 'path') return place.path;
  const of = { 'location.metadata.labels': place.labels, 'location.metadata.annotations': place.annotations };
  const all: Readonly<Record<string, Labels>> = { ...of, properties: place.properties };
  const found = /^(?:"\w+" in )?([a-z.]+)(?: \? \1)?\["(\w+)"\](?: : "none")?$/.exec(expression);
  const map = found && all[found[1]!];
  if (!map) throw new Error(`an expression that no plan makes: ${expression}`);
  return map[found[2]!] ?? 'none';
}

function mapped(data: Labels, change: (text: string) => string): Labels {
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, change(text)]));
}
