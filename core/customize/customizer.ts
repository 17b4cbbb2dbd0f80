/** The Customizer as code reads it, and the annotations that ask for customization. The schema is in apiserver/kinds/customizer-kind.ts. */
import type { Json } from '../object/meta.ts';
import type { LabelSelector } from '../object/selector.ts';

export const customizerResource = 'customizers';
/** Annotation of an object. Its value names a Customizer: NAME (in the namespace of the object) or NAMESPACE/NAME. */
export const customizerAnnotation = 'edge.banyan.io/customizer';
/** Annotation of an object. "true" expands `%(name)` in all strings of the object. */
export const expandAnnotation = 'edge.banyan.io/expand-parameters';

export interface CustomizerSpec {
  /** Applied in this order. The expressions of a rule see the object with the changes of the rules before it. */
  rules?: CustomizerRule[];
  /** Applied after all rules. */
  replacements?: Replacement[];
}

export interface CustomizerRule {
  /** A CEL condition. Absent: the rule always applies. */
  when?: string;
  /** Absent: the rule applies to every object. */
  target?: CustomizerTarget;
  patch?: PatchItem[];
}

/** All given fields must match. */
export interface CustomizerTarget {
  /** Empty: the core group. */
  group?: string;
  kind?: string;
  name?: string;
  labelSelector?: LabelSelector;
}

/** Either only `merge`, or one JSON Patch operation. The strings of `merge` and `value` may contain `${{ CEL }}`. */
export interface PatchItem {
  op?: string;
  path?: string;
  from?: string;
  value?: Json;
  merge?: { [field: string]: Json };
}

export interface Replacement {
  /** A JSONPath. */
  path: string;
  value: Json;
}

/** The destination as JSON, as expressions see it. */
export interface DestinationFacts {
  /** The labels include inherited labels. If the Location has a label of the same key, its own label is used. */
  readonly location: object;
  readonly syncTarget: object;
  readonly properties: Readonly<Record<string, string>>;
  /** The path of the destination's agent. */
  readonly path: string;
}

export type FailureReason = 'CustomizationFailed' | 'CustomizerNotFound';

/** The outcome for one object at one destination: the canonical bytes of the object, or the reason why the node can't make the object. */
export type CustomizationOutcome =
  | { readonly body: Uint8Array }
  | { readonly failure: { readonly reason: FailureReason; readonly message: string } };

export interface Rendered {
  readonly outcome: CustomizationOutcome;
  /** The cost, counted in steps of expressions. */
  readonly steps: number;
}

/** The mistake in a customization. `field` is a field of the Customizer; during the expansion of parameters, it is a field of the object. */
export class CustomizeError extends Error {
  readonly field: string;

  constructor(field: string, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'CustomizeError';
    this.field = field;
  }
}
