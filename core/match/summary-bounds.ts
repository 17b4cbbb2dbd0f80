/**
 * The bounds of a child's label summary: which labels and properties the destinations below the child can have, whatever the summary says or leaves out. The
 * parent knows the child's path from the certificate, and the claims that the child may make. Bounds stay at the parent: they do not travel.
 */
import { dottedPath, segmentsOf } from '../identity/node-path.ts';
import { type FieldFact, isUnder, type TextsUnder } from './cel/three-valued.ts';
import { type AllowedValues, allowedValues, type SubtreeClaims, treePrefix } from './claims.ts';

export type ClaimSection = 'labels' | 'properties' | 'targetLabels';

/** Returns the values that the parent itself gave the subtree for a key, so that the child only repeats them. */
export type GivenValues = (section: ClaimSection, key: string) => AllowedValues;

const noValues: ReadonlySet<string> = new Set();

export class SummaryBounds {
  /** The labels of the child's own path, which all Locations below the child have. */
  readonly pathLabels: Readonly<Record<string, string>>;
  /** The variable `path` of an expression. */
  readonly path: TextsUnder;
  readonly #pathLabel: TextsUnder;
  readonly #depth: number;
  readonly #claims: SubtreeClaims;
  readonly #given: GivenValues;

  /** `path`: the path of the child, from its certificate. */
  constructor(path: string, claims: SubtreeClaims, given: GivenValues) {
    const names = segmentsOf(path);
    this.pathLabels = Object.fromEntries(names.map((name, i) => [`${treePrefix}${i + 1}`, name]));
    this.path = { above: path, separator: ':' };
    this.#pathLabel = { above: dottedPath(path), separator: '.' };
    this.#depth = names.length;
    this.#claims = claims;
    this.#given = given;
  }

  allows(section: ClaimSection, key: string, value: string): boolean {
    const under = this.#under(section, key);
    if (under) return isUnder(under, value);
    const allowed = this.valuesOf(section, key);
    return allowed === 'any' || allowed.has(value);
  }

  /** An empty set: the subtree may not have the key at all. */
  valuesOf(section: ClaimSection, key: string): AllowedValues {
    if (section === 'labels' && key.startsWith(treePrefix)) return this.#treeValues(key);
    const claimed = allowedValues(this.#claims[section === 'properties' ? 'properties' : 'labels'], key);
    const given = claimed === 'any' ? claimed : this.#given(section, key);
    return claimed === 'any' || given === 'any' ? 'any' : new Set([...claimed, ...given]);
  }

  /** Returns the knowledge about a key of which the summary does not say enough. */
  factOf(section: ClaimSection, key: string): FieldFact {
    const under = this.#under(section, key);
    if (under) return { mayBePresent: true, mayBeAbsent: true, under };
    const allowed = this.valuesOf(section, key);
    if (allowed === 'any') return { mayBePresent: true, mayBeAbsent: true };
    return { mayBePresent: allowed.size > 0, mayBeAbsent: true, values: [...allowed] };
  }

  #under(section: ClaimSection, key: string): TextsUnder | undefined {
    return section === 'labels' && key === `${treePrefix}path` ? this.#pathLabel : undefined;
  }

  #treeValues(key: string): AllowedValues {
    const own = this.pathLabels[key];
    if (own !== undefined) return new Set([own]);
    // The names of deeper levels are the child's to say: its certificate gives it the whole subtree.
    const isDeeper =
      /^[1-9]\d{0,3}$/.test(key.slice(treePrefix.length)) && Number(key.slice(treePrefix.length)) > this.#depth;
    return isDeeper || key === `${treePrefix}path` ? 'any' : noValues;
  }
}
