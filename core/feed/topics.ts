/** The changes that feeds announce. A key is the name of a table, as the producer or consumer was opened. */
import { Topic } from '../store/topics.ts';

/** Rows of a producer changed: there is something to send. */
export const producerRowsTopic = new Topic<string>('producer rows');

/** The rows that a consumer holds have changed. */
export const heldRowsTopic = new Topic<string>('held rows');

/** The quarantined entries of a consumer have changed. */
export const quarantineTopic = new Topic<string>('quarantine');
