/** The Customizer as code reads it (apiserver/kinds/customizer-kind.ts has its schema), and the annotations that ask for customization. */
import type { Json } from '../object/meta.ts';
import type { LabelSelector } from '../object/selector.ts';

export const customizerResource = 'customizers';
/** On an object: NAME (in the namespace of the object) or NAMESPACE/NAME of a Customizer. */
export const customizerAnnotation = 'edge.banyan.io/customizer';
/** On an object: "true" expands `%(name)` in all its strings. */
export const expandAnnotation = 'edge.banyan.io/expand-parameters';

export interface CustomizerSpec {
  /** Applied in order. The expressions of a rule see the object as the rules before it have changed it. */
  rules?: CustomizerRule[];
  /** Applied after the rules. */
  replacements?: Replacement[];
}

export interface CustomizerRule {
  /** CEL; absent: always. */
  when?: string;
  /** Absent: every object. */
  target?: CustomizerTarget;
  patch?: PatchItem[];
}

/** Fields are ANDed. */
export interface CustomizerTarget {
  /** Empty: the core group. */
  group?: string;
  kind?: string;
  name?: string;
  labelSelector?: LabelSelector;
}

/** `merge` alone, or a JSON Patch operation; `${{ CEL }}` in the strings of `merge` and `value`. */
export interface PatchItem {
  op?: string;
  path?: string;
  from?: string;
  value?: Json;
  merge?: { [field: string]: Json };
}

export interface Replacement {
  /** JSONPath. */
  path: string;
  value: Json;
}

/** The destination as expressions see it, as JSON. */
export interface DestinationFacts {
  /** Its labels include the inherited ones. A label of its own wins over an inherited one. */
  readonly location: object;
  readonly syncTarget: object;
  readonly properties: Readonly<Record<string, string>>;
  /** The path of the destination's agent. */
  readonly path: string;
}

export type FailureReason = 'CustomizationFailed' | 'CustomizerNotFound';

/** The outcome for one object at one destination: the canonical bytes of the object, or the reason why it can't be made. */
export type CustomizationOutcome =
  | { readonly body: Uint8Array }
  | { readonly failure: { readonly reason: FailureReason; readonly message: string } };

export interface Rendered {
  readonly outcome: CustomizationOutcome;
  /** The cost, in steps of expressions. */
  readonly steps: number;
}

/** `field` is a field of the Customizer, or, during the expansion of parameters, a field of the object. */
export class CustomizeError extends Error {
  readonly field: string;

  constructor(field: string, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'CustomizeError';
    this.field = field;
  }
}
