// Races that a call has lost: exchanges that failed because another thread changed the word.

let lost: i32 = 0;

export function beginRaces(): void {
  lost = 0;
}

export function loseRace(): void {
  lost++;
}

export function lostRaces(): i32 {
  return lost;
}
