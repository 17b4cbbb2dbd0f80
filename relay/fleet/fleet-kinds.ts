/**
 * The kinds of a fleet: those kinds of the source whose objects may go to clusters, and the kinds that clusters have reported, here or at nodes below.
 */
import { mayTravel } from '../../core/apiserver/kinds/travelling.ts';
import type { Kind, Kinds } from '../../core/apiserver/space.ts';
import type { GroupResource } from '../../core/object/key.ts';
import type { ReportedKinds } from '../views/view-kinds.ts';

export class FleetKinds implements Kinds {
  /** Called each time, because the view of a source above exists only while somebody uses it. */
  readonly #ofSource: () => Kinds | undefined;
  readonly #reported: ReportedKinds;

  constructor(ofSource: () => Kinds | undefined, reported: ReportedKinds) {
    this.#ofSource = ofSource;
    this.#reported = reported;
  }

  get generation(): number {
    return (this.#ofSource()?.generation ?? 0) + this.#reported.generation;
  }

  all(): readonly Kind[] {
    const ofSource = this.#ofSource();
    const fromSource = (ofSource?.all() ?? []).filter(
      (kind) => mayTravel(kind) || this.#reported.get(kind) !== undefined,
    );
    return [...fromSource, ...[...this.#reported.all()].filter((kind) => !ofSource?.byResource(kind))];
  }

  byResource(of: GroupResource): Kind | undefined {
    const reported = this.#reported.get(of);
    if (!reported && !mayTravel(of)) return undefined;
    return this.#ofSource()?.byResource(of) ?? reported;
  }

  byKind(group: string, version: string, kind: string): Kind | undefined {
    return this.all().find(
      (one) => one.group === group && one.kind === kind && (version === '' || one.versions.includes(version)),
    );
  }
}
