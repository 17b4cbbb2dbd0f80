/** `spec.move` and `status.moving` of an EdgePlacement: see core/move/. */
import { deadlineDefaultSeconds } from '../../move/move.ts';
import { integer, object, string, time } from './schema-builders.ts';

/** A week: what takes longer is no move any more, and its deadline would be forgotten. */
const deadlineMaxSeconds = 7 * 24 * 3600;

export const moveSpec = object('In which order copies go and come when other destinations match than before.', {
  strategy: string(
    'MakeBeforeBreak: an old copy stays until the new ones are available. BreakBeforeMake: a new one is made when the old ones have gone. None: what matches no more goes at once. Auto: BreakBeforeMake if a ReadWriteOnce or ReadWriteOncePod volume is carried, by a PersistentVolumeClaim or a StatefulSet, else MakeBeforeBreak.',
    { enum: ['MakeBeforeBreak', 'BreakBeforeMake', 'None', 'Auto'], default: 'Auto' },
  ),
  deadlineSeconds: integer('How long one side of a move waits for the other; then it goes on without it.', {
    format: 'int32',
    minimum: 1,
    maximum: deadlineMaxSeconds,
    default: deadlineDefaultSeconds,
  }),
});

export const movingStatusSchema = object('How far a move has come; absent while spec.move.strategy is None.', {
  strategy: string('What the strategy is in effect.', { enum: ['MakeBeforeBreak', 'BreakBeforeMake'] }),
  leaving: integer('Destinations that match no more and still have their copy, or may have it.', { minimum: 0 }),
  joining: integer('Destinations that match now and have no copy that is available yet.', { minimum: 0 }),
  overdue: integer('Destinations that went on at the deadline, in this generation of the placement.', { minimum: 0 }),
  until: time('When the first of those that wait goes on by itself.'),
});
