use crate::wiring::Clerk;

/// Reads the answers, and asks for the end once a number takes enough steps.
pub async fn clerk(mut p: Clerk) -> Result<(), String> {
    let most = crate::steps()?;
    let mut found: Option<u64> = None;
    let (mut answers, mut last) = (0, 0);
    let mut shifts = vec![0; p.answers.members()];
    while let Some((member, answer)) = p.answers.read().await {
        answers += 1;
        last = last.max(answer.number);
        shifts[member] = answer.shift;
        if answer.steps > most {
            // Not necessarily the least such number: earlier numbers are answered before the end.
            found = Some(found.map_or(answer.number, |least| least.min(answer.number)));
            p.answers.close();
        }
    }
    assert_eq!(
        answers, last,
        "each number that was handed out is answered once"
    );
    println!("shifts: {shifts:?}, {answers} answers");
    match found {
        Some(number) => println!("{number} is the first that takes more than {most} steps"),
        None => println!("none of {last} numbers takes more than {most} steps"),
    }
    Ok(())
}
