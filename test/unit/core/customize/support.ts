/** A shop as expressions read it, and renderings of a ConfigMap there. */
import { builtinKinds } from '../../../../core/apiserver/builtin/builtin-kinds.ts';
import { type CompiledCustomizer, compileCustomizer } from '../../../../core/customize/compile.ts';
import type { CustomizationOutcome, CustomizerSpec, DestinationFacts } from '../../../../core/customize/customizer.ts';
import { Recorder } from '../../../../core/customize/reads.ts';
import { render } from '../../../../core/customize/render.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { asText } from '../../../../core/store/bytes.ts';

export interface Shop {
  readonly name?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly properties?: Record<string, string>;
  readonly path?: string;
}

export function shop(of: Shop = {}): DestinationFacts {
  const properties = of.properties ?? { tills: '3' };
  const name = of.name ?? 'store-1';
  return {
    location: {
      apiVersion: 'inventory.banyan.io/v1alpha1',
      kind: 'Location',
      metadata: {
        name,
        labels: of.labels ?? { env: 'prod', region: 'eu' },
        annotations: of.annotations ?? { 'store-name': 'Rivoli' },
      },
    },
    syncTarget: { metadata: { name }, spec: { properties } },
    properties,
    path: of.path ?? `eu:paris:${name}`,
  };
}

export function configMap(data: Record<string, string>, metadata: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'greeting', namespace: 'shop', ...metadata }, data };
}

export function deployment(): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'till', namespace: 'shop' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'till' } },
      template: {
        metadata: { labels: { app: 'till' } },
        spec: {
          containers: [
            { name: 'till', image: 'till:1' },
            { name: 'log', image: 'log:1' },
          ],
        },
      },
    },
  };
}

export interface Rendered {
  readonly outcome: CustomizationOutcome;
  readonly recorder: Recorder;
  /** The object of a successful rendering. */
  readonly object: KubeObject;
}

export function rendered(
  object: KubeObject,
  specs: CustomizerSpec | readonly CustomizerSpec[],
  facts: DestinationFacts = shop(),
  expands = false,
): Rendered {
  const list: readonly CustomizerSpec[] = Array.isArray(specs) ? specs : [specs as CustomizerSpec];
  const customizers = list.map((spec, index) => {
    return { name: index === 0 ? 'shop/greet' : `shop/greet-${index}`, compiled: compiled(spec) };
  });
  const recorder = new Recorder(facts);
  const kind = builtinKinds().find((one) => one.kind === object.kind);
  const { outcome } = render(
    { object, characters: JSON.stringify(object).length, customizers, expands, kind },
    recorder,
  );
  return {
    outcome,
    recorder,
    get object() {
      if ('failure' in outcome) throw new Error(outcome.failure.message);
      return JSON.parse(asText(outcome.body)) as KubeObject;
    },
  };
}

export function failure(...args: Parameters<typeof rendered>): string {
  const { outcome } = rendered(...args);
  if (!('failure' in outcome)) throw new Error(`no failure but ${asText(outcome.body)}`);
  return outcome.failure.message;
}

export function compiled(spec: CustomizerSpec): CompiledCustomizer {
  const compilation = compileCustomizer(spec);
  if (compilation.causes) throw new Error(JSON.stringify(compilation.causes));
  return compilation.customizer;
}

/** The refusal by admission: field and message of each cause. */
export function refusals(spec: unknown): string[] {
  return (compileCustomizer(spec as CustomizerSpec).causes ?? []).map(({ field, message }) => `${field}: ${message}`);
}
