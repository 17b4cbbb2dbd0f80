/** Which copies a question is about. */
import { parseLabelSelector } from '../../core/apiserver/selection/label-selector.ts';
import { type RequestSelection, selectionOf } from '../../core/apiserver/selection/selection.ts';
import { type Facet, pathLabel, pathOfValue } from './copy.ts';
import type { CopiesQuestion } from './fleet-question.ts';

export interface CopySelection {
  /** True if every copy of the kind and namespace is selected. */
  readonly isEmpty: boolean;
  matches(facet: Facet): boolean;
}

export function copySelection(question: CopiesQuestion): CopySelection {
  const { labelSelector, fieldSelector, kind, namespace, name } = question;
  const selection: RequestSelection = selectionOf(labelSelector, fieldSelector, kind.selectable);
  return {
    isEmpty: selection.isEmpty && name === undefined,
    matches: (facet) => {
      const { metadata } = facet;
      if (namespace !== '' && metadata.namespace !== namespace) return false;
      return (name === undefined || metadata.name === name) && selection.matches(facet);
    },
  };
}

/** The paths that the label selector allows. Undefined: all paths. Lists and watches ask only the children on the way to these paths. */
export function pathsSelected(labelSelector: string): string[] | undefined {
  if (labelSelector === '') return undefined;
  let paths: string[] | undefined;
  for (const { key, operator, values = [] } of parseLabelSelector(labelSelector)) {
    if (key !== pathLabel || operator !== 'In') continue;
    const here = values.map(pathOfValue);
    paths = paths === undefined ? here : paths.filter((path) => here.includes(path));
  }
  return paths;
}
