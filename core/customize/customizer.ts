/** Customizer as code reads it (apiserver/kinds/customizer-kind.ts is the schema of the same), and what asks for customization. */
import type { Json } from '../object/meta.ts';
import type { LabelSelector } from '../object/selector.ts';

export const customizerResource = 'customizers';
/** On an object: NAME (in the namespace of the object) or NAMESPACE/NAME of a Customizer. */
export const customizerAnnotation = 'edge.banyan.io/customizer';
/** On an object: "true" expands `%(name)` in all its strings. */
export const expandAnnotation = 'edge.banyan.io/expand-parameters';

export interface CustomizerSpec {
  /** Worked off in order; expressions of a rule see the object as the rules before it have left it. */
  rules?: CustomizerRule[];
  /** After the rules. */
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

/** What expressions see of a destination, as JSON. */
export interface DestinationFacts {
  /** With its own labels over the inherited ones. */
  readonly location: object;
  readonly syncTarget: object;
  readonly properties: Readonly<Record<string, string>>;
  /** Of the destination's agent. */
  readonly path: string;
}

export type FailureReason = 'CustomizationFailed' | 'CustomizerNotFound';

/** What came out for one object at one destination: canonical bytes of the object, or why there are none. */
export type CustomizationOutcome =
  | { readonly body: Uint8Array }
  | { readonly failure: { readonly reason: FailureReason; readonly message: string } };

export interface Rendered {
  readonly outcome: CustomizationOutcome;
  /** What it cost, in steps of expressions. */
  readonly steps: number;
}

/** `field`: of the Customizer, or of the object where parameters are expanded. */
export class CustomizeError extends Error {
  readonly field: string;

  constructor(field: string, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'CustomizeError';
    this.field = field;
  }
}
