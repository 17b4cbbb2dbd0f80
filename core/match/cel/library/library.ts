/**
 * The environment of all expressions: the engine's language, and the libraries of a Kubernetes API server of version 1.34.
 * https://kubernetes.io/docs/reference/using-api/cel/#cel-options-language-features-and-libraries
 */
import { Environment } from '@marcbachmann/cel-js';
import { addConversions } from './conversions.ts';
import { addFormats } from './formats.ts';
import { addLists } from './lists.ts';
import { addNamespaces } from './namespaces.ts';
import { addNet } from './net.ts';
import { addOptionals } from './optionals.ts';
import { addQuantities } from './quantities.ts';
import { addRegex } from './regex.ts';
import { addSemver } from './semver.ts';
import { addSets } from './sets.ts';
import { addStrings } from './strings.ts';
import { addTextFormat } from './text-format.ts';
import { addTwoVariables } from './two-variables.ts';
import { addUrls } from './url.ts';

export const baseEnvironment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false });

addNamespaces(baseEnvironment);
for (const add of [
  addConversions,
  addStrings,
  addTextFormat,
  addRegex,
  addLists,
  addSets,
  addTwoVariables,
  addOptionals,
  addQuantities,
  addNet,
  addUrls,
  addSemver,
  addFormats,
]) {
  add(baseEnvironment);
}
