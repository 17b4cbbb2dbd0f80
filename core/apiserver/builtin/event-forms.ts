/**
 * The two forms of an Event. As in Kubernetes, `v1` and `events.k8s.io/v1` serve the same objects, and most fields have another name in the other form. The
 * objects are stored in the form of `v1`.
 */
import type { KubeObject } from '../../object/meta.ts';

const newEvents = 'events.k8s.io/v1';

/** [the name in `v1`, the name in `events.k8s.io/v1`]. All other fields have the same name. */
const renamed: readonly (readonly [core: string, other: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
];
const toNew = new Map(renamed);
const toCore = new Map(renamed.map(([core, other]) => [other, core]));

export const eventSelectable: Readonly<Record<string, readonly string[]>> = {
  '': [
    '.involvedObject.kind',
    '.involvedObject.namespace',
    '.involvedObject.name',
    '.involvedObject.uid',
    '.involvedObject.apiVersion',
    '.involvedObject.resourceVersion',
    '.involvedObject.fieldPath',
    '.reason',
    '.type',
    '.reportingComponent',
    '.source',
  ],
  'events.k8s.io': [
    '.regarding.kind',
    '.regarding.namespace',
    '.regarding.name',
    '.regarding.uid',
    '.regarding.apiVersion',
    '.regarding.resourceVersion',
    '.regarding.fieldPath',
    '.reason',
    '.type',
    '.reportingController',
  ],
};

/** The text that the field selector `source` compares: the component that reports the Event. */
export function eventSource(event: Pick<KubeObject, 'metadata'>): string {
  const { source, reportingComponent } = event as { source?: { component?: string }; reportingComponent?: string };
  return source?.component || reportingComponent || '';
}

export function eventInForm(event: KubeObject, apiVersion: string): KubeObject {
  if (event.apiVersion === apiVersion) return event;
  const names = apiVersion === newEvents ? toNew : toCore;
  const { apiVersion: _before, ...fields } = event;
  const entries = Object.entries(fields).map(([name, value]) => [names.get(name) ?? name, value]);
  return { apiVersion, ...Object.fromEntries(entries) } as KubeObject;
}
