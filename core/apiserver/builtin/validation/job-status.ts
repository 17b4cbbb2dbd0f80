/**
 * The status of a Job that a user writes, in the order of Kubernetes (validateJobStatus, ValidateJobStatusUpdate). Most rules ask only whether a changed field is right: a
 * change of the spec may have made others wrong for a while.
 */
import { indexCount, sharedIndex } from './index-ranges.ts';
import { isSameValue } from './updates.ts';
import {
  type FieldCheck,
  fields,
  ifGiven,
  isPresent,
  listOf,
  notNegative,
  numberOf,
  type ReadValues,
  recordOf,
  recordsOf,
  textsOf,
  type Visit,
  wordOf,
} from './visit.ts';

type Condition = 'Complete' | 'Failed' | 'FailureTarget' | 'SuccessCriteriaMet' | 'Suspended';

/** The status before and after the write, with the spec. */
class Statuses {
  readonly spec: ReadValues;
  readonly now: ReadValues;
  readonly before: ReadValues;
  readonly #at: Visit;

  constructor(now: unknown, at: Visit) {
    this.spec = recordOf(at.object.spec);
    this.now = recordOf(now);
    this.before = recordOf(at.old?.status);
    this.#at = at;
  }

  has(condition: Condition, status = this.now, state = 'True'): boolean {
    return recordsOf(status.conditions).some((one) => one.type === condition && one.status === state);
  }

  /** One of the fields or conditions is another one now. */
  isChanged(...names: readonly string[]): boolean {
    return names.some((name) => {
      if (name === 'finished') return this.isFinished() !== this.isFinished(this.before);
      if (/^[A-Z]/.test(name)) return this.has(name as Condition) !== this.has(name as Condition, this.before);
      return !isSameValue(this.now[name], this.before[name], this.#at.fieldAt(`status.${name}`));
    });
  }

  isFinished(status = this.now): boolean {
    return this.has('Complete', status) || this.has('Failed', status);
  }

  get isIndexed(): boolean {
    return this.spec.completionMode === 'Indexed';
  }
}

export const jobStatus: FieldCheck = (value, at) => {
  const statuses = new Statuses(value, at);
  numbers(value, at);
  uncounted(statuses.now, at);
  conditions(statuses, at);
  finished(statuses, at);
  indexes(statuses, at);
  laterRules(statuses, at);
  changes(statuses, at);
};

const numbers = fields({
  active: notNegative,
  succeeded: notNegative,
  failed: notNegative,
  ready: ifGiven(notNegative),
  terminating: ifGiven(notNegative),
});

function uncounted({ uncountedTerminatedPods: pods }: ReadValues, at: Visit): void {
  const seen = new Set<string>();
  for (const list of ['succeeded', 'failed']) {
    for (const [i, uid] of textsOf(recordOf(pods)[list]).entries()) {
      const path = `uncountedTerminatedPods.${list}[${i}]`;
      if (uid === '') at.invalid(path, uid, 'must not be empty');
      else if (seen.has(uid)) at.duplicate(path, uid);
      seen.add(uid);
    }
  }
}

function conditions(of: Statuses, at: Visit): void {
  const refuse = (why: string) => at.invalidAs('conditions', why);
  const { startTime, completionTime } = of.now;
  const isComplete = of.has('Complete');
  if (of.isChanged('Complete', 'Failed') && isComplete && of.has('Failed')) {
    refuse('cannot set Complete=True and Failed=true conditions');
  }
  if (of.isChanged('Complete', 'FailureTarget') && isComplete && of.has('FailureTarget')) {
    refuse('cannot set Complete=True and FailureTarget=true conditions');
  }
  if (of.isChanged('Complete', 'completionTime')) {
    if (completionTime && !isComplete) {
      const why = 'cannot set completionTime when there is no Complete=True condition';
      at.invalid('completionTime', completionTime, why);
    }
    if (!completionTime && isComplete) at.required('completionTime', 'completionTime is required for Complete jobs');
  }
  if (of.isChanged('startTime', 'completionTime') && isBefore(completionTime, startTime)) {
    at.invalid('completionTime', completionTime, 'must be equal to or after `startTime`');
  }
  if (of.isChanged('Failed', 'failedIndexes') && of.has('Failed') && !of.has('FailureTarget')) {
    refuse('cannot set Failed=True condition without the FailureTarget=true condition');
  }
  if (of.isChanged('Complete', 'SuccessCriteriaMet') && isComplete && !of.has('SuccessCriteriaMet')) {
    refuse('cannot set Complete=True condition without the SuccessCriteriaMet=true condition');
  }
}

function isBefore(time: unknown, other: unknown): boolean {
  return isPresent(time) && isPresent(other) && Date.parse(wordOf(time)) < Date.parse(wordOf(other));
}

/** What a Job that has ended may not have any more. */
function finished(of: Statuses, at: Visit): void {
  if (!of.isFinished()) return;
  const { active, startTime, uncountedTerminatedPods: pods } = of.now;
  if (of.isChanged('finished', 'active') && numberOf(active) > 0) {
    at.invalid('active', active, 'active>0 is invalid for finished job');
  }
  const neverRan = of.spec.suspend === true && of.spec.completions === 0;
  if (of.isChanged('finished', 'startTime') && !neverRan && !isPresent(startTime)) {
    at.required('startTime', 'startTime is required for finished job');
  }
  const { succeeded, failed } = recordOf(pods);
  const count = listOf(succeeded).length + listOf(failed).length;
  if (of.isChanged('finished', 'uncountedTerminatedPods') && count > 0) {
    at.invalid('uncountedTerminatedPods', pods, 'must be empty for finished job');
  }
}

function indexes(of: Statuses, at: Visit): void {
  const { completions, backoffLimitPerIndex } = of.spec;
  const { completedIndexes, failedIndexes } = of.now;
  const [completed, failed] = [wordOf(completedIndexes), wordOf(failedIndexes)];
  const parse = (name: string, text: string) => {
    const count = indexCount(text, numberOf(completions));
    if (typeof count === 'string') at.invalid(name, text, `error parsing ${name}: ${count}`);
  };
  const hasFailed = isPresent(failedIndexes);
  if (of.isChanged('completedIndexes') && isPresent(completions)) parse('completedIndexes', completed);
  if (of.isChanged('failedIndexes') && isPresent(completions) && isPresent(backoffLimitPerIndex) && hasFailed) {
    parse('failedIndexes', failed);
  }
  if (of.isChanged('completedIndexes') && completed !== '' && !of.isIndexed) {
    const why = 'cannot set non-empty completedIndexes when non-indexed completion mode';
    at.invalid('completedIndexes', completed, why);
  }
  if (of.isChanged('failedIndexes') && !isPresent(backoffLimitPerIndex) && hasFailed) {
    at.invalid('failedIndexes', failed, 'cannot set non-null failedIndexes when backoffLimitPerIndex is null');
  }
  if (!of.isChanged('failedIndexes', 'completedIndexes') || !isPresent(completions) || !hasFailed) return;
  const both = sharedIndex(completed, failed, numberOf(completions));
  if (both === undefined) return;
  at.invalid('failedIndexes', failed, `failedIndexes and completedIndexes overlap at index: ${both}`);
}

function laterRules(of: Statuses, at: Visit): void {
  const { active, ready, terminating } = of.now;
  if (of.isChanged('finished', 'terminating') && numberOf(terminating) > 0 && of.isFinished()) {
    at.invalid('terminating', terminating, 'terminating>0 is invalid for finished job');
  }
  if (of.isChanged('ready', 'active') && numberOf(ready) > numberOf(active)) {
    at.invalid('ready', ready, 'cannot set more ready pods than active');
  }
  const isMet = of.has('SuccessCriteriaMet');
  const refuse = (why: string) => at.invalidAs('conditions', why);
  if (isMet && of.has('Failed')) refuse('cannot set SuccessCriteriaMet=True and Failed=true conditions');
  if (isMet && of.has('FailureTarget')) refuse('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions');
  if (isPresent(of.spec.successPolicy) && !isMet && of.has('Complete')) {
    refuse('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True');
  }
}

/** What a status may not take back. */
function changes(of: Statuses, at: Visit): void {
  if (!at.old) return;
  const { now, before, spec } = of;
  for (const condition of ['Failed', 'Complete', 'FailureTarget'] as const) {
    if (of.has(condition, before) && !of.has(condition)) {
      at.invalidAs('conditions', `cannot disable the terminal ${condition}=True condition`);
    }
  }
  const mayShrink = of.isIndexed && isSameValue(spec.completions, spec.parallelism, at.fieldAt('spec.completions'));
  for (const counter of ['failed', ...(mayShrink ? [] : ['succeeded'])]) {
    if (numberOf(now[counter]) < numberOf(before[counter])) {
      at.invalid(counter, numberOf(now[counter]), `cannot decrease the ${counter} counter`);
    }
  }
  if (now.completionTime && before.completionTime && of.isChanged('completionTime')) {
    at.invalid('completionTime', now.completionTime, 'field is immutable');
  }
  const isResuming = of.has('Suspended', before) && of.has('Suspended', now, 'False');
  if (before.startTime && of.isChanged('startTime') && !isResuming && spec.suspend !== true) {
    at.required('startTime', 'startTime cannot be removed for unsuspended job');
  }
  const [isMet, wasMet] = [of.has('SuccessCriteriaMet'), of.has('SuccessCriteriaMet', before)];
  if (wasMet && !isMet) at.invalidAs('conditions', 'cannot disable the SuccessCriteriaMet=True condition');
  if (of.has('Complete', before) && !wasMet && isMet) {
    const why = 'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions';
    at.invalidAs('conditions', why);
  }
}
